// openai-node's chat calls with tools and images against `waitscope provider`.

import assert from "node:assert/strict";
import { test } from "node:test";

import { CHAT_MODEL, clientOf, startProvider } from "./provider.js";

const QUESTION = { role: "user", content: "Where is order 4711?" };
const TOOLS = [
  {
    type: "function",
    function: {
      name: "find_order",
      parameters: {
        type: "object",
        properties: { order_id: { type: "string" }, lines: { type: "integer" } },
        required: ["order_id", "lines"],
      },
    },
  },
];
const ask = { model: CHAT_MODEL, messages: [QUESTION], tools: TOOLS };

async function completionsOf(t) {
  return clientOf(await startProvider(t, "--speed", "0")).chat.completions;
}

function checkOrder(json) {
  const order = JSON.parse(json);
  assert.equal(typeof order.order_id, "string");
  assert(Number.isInteger(order.lines));
}

test("a tool is called, and its result gets text", async (t) => {
  const completions = await completionsOf(t);
  const [choice] = (await completions.create(ask)).choices;
  assert.equal(choice.finish_reason, "tool_calls");
  const [call] = choice.message.tool_calls;
  assert.equal(call.function.name, "find_order");
  checkOrder(call.function.arguments);
  const result = { role: "tool", tool_call_id: call.id, content: "In Bremen." };
  const told = await completions.create({ ...ask, messages: [QUESTION, choice.message, result] });
  assert.equal(told.choices[0].finish_reason, "stop");
  assert(told.choices[0].message.content);
});

test("a streamed call comes in pieces", async (t) => {
  const completions = await completionsOf(t);
  const pieces = [];
  let finish = null;
  for await (const chunk of await completions.create({ ...ask, stream: true })) {
    pieces.push(...(chunk.choices[0].delta.tool_calls ?? []));
    finish = chunk.choices[0].finish_reason;
  }
  assert.equal(finish, "tool_calls");
  assert(pieces.length > 3);
  assert.equal(pieces[0].function.name, "find_order");
  assert(pieces[0].id);
  assert(pieces.slice(1).every((piece) => piece.index === 0 && !piece.id && !piece.function.name));
  checkOrder(pieces.map((piece) => piece.function.arguments ?? "").join(""));
});

test("the SDK's own reader of streams collects a call", async (t) => {
  const completions = await completionsOf(t);
  const [choice] = (await completions.stream(ask).finalChatCompletion()).choices;
  checkOrder(choice.message.tool_calls[0].function.arguments);
});

test("images are taken and counted", async (t) => {
  const completions = await completionsOf(t);
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
  const promptTokens = async (...parts) => {
    const content = [{ type: "text", text: "What is on it?" }, ...parts];
    const messages = [{ role: "user", content }];
    const answer = await completions.create({ model: CHAT_MODEL, messages });
    assert.match(answer.choices[0].message.content, /What is on it\?/);
    return answer.usage.prompt_tokens;
  };
  assert.equal(await promptTokens(image), (await promptTokens()) + 85);
});

test("the caller chooses, whole and streamed", async (t) => {
  const completions = await completionsOf(t);
  const other = { type: "function", function: { name: "send_mail", parameters: {} } };
  const named = { type: "function", function: { name: "send_mail" } };
  for (const [tool_choice, called] of [
    ["none", []],
    ["required", ["find_order"]],
    [named, ["send_mail"]],
  ]) {
    const chosen = { ...ask, tools: [...TOOLS, other], tool_choice };
    for (const answer of [
      await completions.create(chosen),
      await completions.stream(chosen).finalChatCompletion(),
    ]) {
      const [{ message, finish_reason }] = answer.choices;
      const names = (message.tool_calls ?? []).map((call) => call.function.name);
      assert.deepEqual(names, called);
      assert.equal(finish_reason, called.length > 0 ? "tool_calls" : "stop");
    }
  }
});
