// The models, and what openai-node makes of errors.

import assert from "node:assert/strict";
import { test } from "node:test";

import OpenAI from "openai";

import { CHAT_MODEL, EMBED_MODEL, MESSAGES, clientOf, startProvider, stats } from "./provider.js";

// A tenth of the quota is 10 calls a minute.
const CALLS_OF_A_TENTH = 10;
const ask = { model: CHAT_MODEL, messages: MESSAGES, max_tokens: 10 };

test("models", async (t) => {
  const { models } = clientOf(await startProvider(t, "--speed", "0"));
  const names = [];
  for await (const model of models.list()) names.push(model.id);
  assert(names.includes(CHAT_MODEL) && names.includes(EMBED_MODEL), names.join());
  for (const name of names) {
    const model = await models.retrieve(name);
    assert.deepEqual([model.id, model.object], [name, "model"]);
  }
  await assert.rejects(models.retrieve("no-such-model"), (error) => {
    assert(error instanceof OpenAI.NotFoundError);
    assert.equal(error.code, "model_not_found");
    assert.match(error.message, /no-such-model/);
    assert(error.requestID);
    return true;
  });
});

test("a senseless request is a bad request", async (t) => {
  const { chat } = clientOf(await startProvider(t, "--speed", "0"));
  await assert.rejects(chat.completions.create({ ...ask, temperature: -5 }), (error) => {
    assert(error instanceof OpenAI.BadRequestError);
    assert.equal(error.type, "invalid_request_error");
    assert.equal(error.param, "temperature");
    return true;
  });
});

test("an outage is an internal server error, retried twice by default", async (t) => {
  const url = await startProvider(t, "--mode", "outage");
  const openai = clientOf(url, { maxRetries: undefined });
  await assert.rejects(openai.chat.completions.create(ask), (error) => {
    assert(error instanceof OpenAI.InternalServerError);
    assert.equal(error.status, 503);
    return true;
  });
  assert.deepEqual((await stats(url)).calls, { draft_reply: { 503: 3 } });
});

test("a used-up quota is a rate limit error that names when to come back", async (t) => {
  const url = await startProvider(t, "--speed", "0", "--mode", "quota");
  const error = await useUpQuota(clientOf(url));
  assert.equal(error.status, 429);
  assert.equal(error.code, "rate_limit_exceeded");
  assert.equal(error.headers.get("x-ratelimit-remaining-requests"), "0");
  const wait_ms = Number(error.headers.get("retry-after-ms"));
  assert(wait_ms > 0 && wait_ms <= 6_000, `retry-after-ms: ${wait_ms}`);
  const { draft_reply } = (await stats(url)).calls;
  assert(draft_reply[200] >= CALLS_OF_A_TENTH, "the healthy calls before it");
});

test("a 429 is retried when retry-after-ms says", async (t) => {
  const url = await startProvider(t, "--speed", "0", "--mode", "quota");
  const wait_ms = Number((await useUpQuota(clientOf(url))).headers.get("retry-after-ms"));
  assert(wait_ms > 2_000, "the SDK's own first pause is at most half a second");
  const start = performance.now();
  // One retry: it fails again unless it comes when the quota has room.
  await clientOf(url, { maxRetries: 1 }).chat.completions.create(ask);
  assert(performance.now() - start > 0.8 * wait_ms);
  assert.equal((await stats(url)).calls.draft_reply[429], 2);
});

// Calls until it is refused, and gives the refusal.
async function useUpQuota(openai) {
  for (let call = 0; call < 3 * CALLS_OF_A_TENTH; call += 1) {
    try {
      await openai.chat.completions.create(ask);
    } catch (error) {
      assert(error instanceof OpenAI.RateLimitError, `${error}`);
      return error;
    }
  }
  return assert.fail("the quota is never used up");
}
