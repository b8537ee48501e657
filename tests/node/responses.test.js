// openai-node's responses against `waitscope provider`.

import assert from "node:assert/strict";
import { test } from "node:test";

import { CHAT_MODEL, clientOf, startProvider } from "./provider.js";

const ask = { model: CHAT_MODEL, input: "My card was charged twice for one order." };
const TOOL = {
  type: "function",
  name: "find_order",
  strict: false,
  parameters: {
    type: "object",
    properties: { order_id: { type: "string" } },
    required: ["order_id"],
  },
};

async function responsesOf(t) {
  return clientOf(await startProvider(t, "--speed", "0")).responses;
}

// The events of a stream, whose numbers leave none out.
async function read(responses, options = {}) {
  const events = [];
  for await (const event of await responses.create({ ...ask, stream: true, ...options })) {
    events.push(event);
  }
  assert.deepEqual(
    events.map((event) => event.sequence_number),
    events.map((_, index) => index),
  );
  return events;
}

function joined(events, type) {
  const deltas = events.filter((event) => event.type === type).map((event) => event.delta);
  assert(deltas.length > 1, `${deltas.length} times ${type}`);
  return deltas.join("");
}

test("a whole and a streamed response are the same", async (t) => {
  const responses = await responsesOf(t);
  const whole = await responses.create(ask);
  assert.equal(whole.status, "completed");
  assert(whole.output_text);
  assert.equal(whole.usage.total_tokens, whole.usage.input_tokens + whole.usage.output_tokens);
  const events = await read(responses);
  assert.deepEqual(
    events.map((event) => event.type).filter((type) => type !== "response.output_text.delta"),
    [
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ],
  );
  assert.equal(joined(events, "response.output_text.delta"), whole.output_text);
  const last = events.at(-1).response;
  assert.equal(last.output[0].content[0].text, whole.output_text);
  assert.deepEqual(last.usage, whole.usage);
});

test("the SDK's own reader collects a stream", async (t) => {
  const responses = await responsesOf(t);
  const final = await responses.stream(ask).finalResponse();
  assert.equal(final.output_text, (await responses.create(ask)).output_text);
});

test("a tool is called, whole and streamed, and its result gets text", async (t) => {
  const responses = await responsesOf(t);
  const tools = [TOOL];
  const { output } = await responses.create({ ...ask, tools });
  const [call] = output;
  assert.equal(output.length, 1);
  assert.deepEqual([call.type, call.name], ["function_call", "find_order"]);
  assert.equal(typeof JSON.parse(call.arguments).order_id, "string");
  const events = await read(responses, { tools });
  assert.equal(joined(events, "response.function_call_arguments.delta"), call.arguments);
  const told = await responses.create({
    ...ask,
    tools,
    input: [
      { role: "user", content: ask.input },
      call,
      { type: "function_call_output", call_id: call.call_id, output: "In Bremen." },
    ],
  });
  assert.deepEqual(told.output.map((item) => item.type), ["message"]);
});

test("too few tokens leave it incomplete", async (t) => {
  const answer = await (await responsesOf(t)).create({ ...ask, max_output_tokens: 16 });
  assert.equal(answer.status, "incomplete");
  assert.equal(answer.incomplete_details.reason, "max_output_tokens");
  assert.equal(answer.usage.output_tokens, 16);
});

test("the SDK's own reader collects a call", async (t) => {
  const responses = await responsesOf(t);
  const stream = responses.stream({ ...ask, tools: [TOOL] });
  const snapshots = [];
  stream.on("response.function_call_arguments.delta", ({ snapshot }) => snapshots.push(snapshot));
  const [call] = (await stream.finalResponse()).output;
  assert(snapshots.length > 1, `${snapshots.length} pieces`);
  assert.equal(snapshots.at(-1), call.arguments);
  assert.equal(typeof JSON.parse(call.arguments).order_id, "string");
});

test("too few tokens leave a stream incomplete", async (t) => {
  const last = (await read(await responsesOf(t), { max_output_tokens: 16 })).at(-1);
  assert.equal(last.type, "response.incomplete");
  assert.equal(last.response.status, "incomplete");
  assert.equal(last.response.incomplete_details.reason, "max_output_tokens");
  assert.equal(last.response.usage.output_tokens, 16);
});

test("JSON is asked for by its format", async (t) => {
  const responses = await responsesOf(t);
  const answer = await responses.create({ ...ask, text: { format: { type: "json_object" } } });
  assert.equal(JSON.parse(answer.output_text).team, "billing");
});

test("images are taken and counted", async (t) => {
  const responses = await responsesOf(t);
  const image = { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "auto" };
  const inputTokens = async (...parts) => {
    const content = [{ type: "input_text", text: "What is on it?" }, ...parts];
    const answer = await responses.create({ ...ask, input: [{ role: "user", content }] });
    assert.match(answer.output_text, /What is on it\?/);
    return answer.usage.input_tokens;
  };
  assert.equal(await inputTokens(image), (await inputTokens()) + 85);
});
