// openai-node's chat calls against `waitscope provider`.

import assert from "node:assert/strict";
import { test } from "node:test";

import { CHAT_MODEL, MESSAGES, clientOf, startProvider } from "./provider.js";

const ask = { model: CHAT_MODEL, messages: MESSAGES };

async function client(t) {
  return clientOf(await startProvider(t, "--speed", "0"));
}

async function readStream(client, options = {}) {
  const chunks = [];
  for await (const chunk of await client.chat.completions.create({
    ...ask,
    stream: true,
    ...options,
  })) {
    chunks.push(chunk);
  }
  return chunks;
}

// One id and time, the role first, the text in pieces, and the reason for the end last.
function checkContent(chunks, expected) {
  assert(chunks.length > 3);
  const heads = new Set(chunks.map((chunk) => `${chunk.id} ${chunk.created} ${chunk.object}`));
  assert.equal(heads.size, 1);
  assert.equal(chunks[0].object, "chat.completion.chunk");
  assert(chunks.every((chunk) => chunk.choices.length === 1));
  const choices = chunks.map((chunk) => chunk.choices[0]);
  assert.deepEqual(
    choices.map((choice) => choice.delta.role),
    ["assistant", ...Array(choices.length - 1).fill(undefined)],
  );
  assert.equal(choices.map((choice) => choice.delta.content ?? "").join(""), expected);
  assert.deepEqual(
    choices.map((choice) => choice.finish_reason),
    [...Array(choices.length - 1).fill(null), "stop"],
  );
}

test("whole chat", async (t) => {
  const answer = await (await client(t)).chat.completions.create(ask);
  assert.equal(answer.object, "chat.completion");
  assert(answer._request_id);
  assert.equal(answer.choices.length, 1);
  const [choice] = answer.choices;
  assert.equal(choice.finish_reason, "stop");
  assert.equal(choice.message.role, "assistant");
  assert(choice.message.content);
  const { prompt_tokens, completion_tokens, total_tokens } = answer.usage;
  assert(prompt_tokens > 0 && completion_tokens > 0);
  assert.equal(total_tokens, prompt_tokens + completion_tokens);
});

test("streamed chat", async (t) => {
  const openai = await client(t);
  const whole = await openai.chat.completions.create(ask);
  const chunks = await readStream(openai);
  checkContent(chunks, whole.choices[0].message.content);
  assert(!chunks.some((chunk) => "usage" in chunk));
});

test("streamed chat with usage", async (t) => {
  const openai = await client(t);
  const whole = await openai.chat.completions.create(ask);
  const chunks = await readStream(openai, { stream_options: { include_usage: true } });
  const last = chunks.pop();
  checkContent(chunks, whole.choices[0].message.content);
  assert(chunks.every((chunk) => chunk.usage === null));
  assert.deepEqual(last.choices, []);
  assert.deepEqual(last.usage, whole.usage);
});

test("the SDK's own reader of streams gives the whole answer", async (t) => {
  const openai = await client(t);
  const whole = await openai.chat.completions.create(ask);
  const stream = openai.chat.completions.stream(ask);
  assert.equal(await stream.finalContent(), whole.choices[0].message.content);
});

test("streamed chat arrives in pieces", async (t) => {
  const openai = clientOf(await startProvider(t, "--latency", "fixed:1s"));
  const start = performance.now();
  const arrivals_ms = [];
  for await (const chunk of await openai.chat.completions.create({ ...ask, stream: true })) {
    if (chunk.choices[0].delta.content) arrivals_ms.push(performance.now() - start);
  }
  assert(arrivals_ms.at(-1) > 900, "the whole call takes what was asked for");
  assert(arrivals_ms[0] < 0.75 * arrivals_ms.at(-1), "the first piece does not wait for the last");
});
