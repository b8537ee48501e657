// openai-node's embeddings against `waitscope provider`.

import assert from "node:assert/strict";
import { test } from "node:test";

import { EMBED_MODEL, clientOf, startProvider } from "./provider.js";

const INPUT = "Wo bleibt mein Päckchen? 📦";

test("default embeddings are base64 and equal the floats", async (t) => {
  const url = await startProvider(t, "--speed", "0");
  const embeddings = clientOf(url).embeddings;
  const byDefault = await embeddings.create({ model: EMBED_MODEL, input: INPUT });
  const floats = await embeddings.create({
    model: EMBED_MODEL,
    input: INPUT,
    encoding_format: "float",
  });
  assert(byDefault.usage.total_tokens > 0);
  assert.deepEqual(byDefault.usage, floats.usage);
  const [decoded, plain] = [byDefault.data[0].embedding, floats.data[0].embedding];
  assert.equal(decoded.length, 384);
  assert.equal(plain.length, 384);
  assert(Math.abs(Math.hypot(...plain) - 1) < 1e-3, "unit length");
  assert.deepEqual(decoded.map(Math.fround), plain.map(Math.fround));
});

test("what the SDK decodes by default is really base64", async (t) => {
  const seen = [];
  const spy = async (...call) => {
    const answer = await fetch(...call);
    seen.push((await answer.clone().json()).data[0].embedding);
    return answer;
  };
  const url = await startProvider(t, "--speed", "0");
  const { embeddings } = clientOf(url, { fetch: spy });
  await embeddings.create({ model: EMBED_MODEL, input: INPUT });
  await embeddings.create({ model: EMBED_MODEL, input: INPUT, encoding_format: "float" });
  assert.equal(typeof seen[0], "string");
  assert(Array.isArray(seen[1]));
});

test("texts and token lists, fewer dimensions", async (t) => {
  const { embeddings } = clientOf(await startProvider(t, "--speed", "0"));
  for (const input of [["one", "two", "three"], [[101, 102], [103], [104]]]) {
    const answer = await embeddings.create({ model: EMBED_MODEL, input, dimensions: 64 });
    assert.deepEqual(answer.data.map((item) => item.index), [0, 1, 2]);
    assert(answer.data.every((item) => item.embedding.length === 64));
    const vectors = new Set(answer.data.map((item) => item.embedding.join()));
    assert.equal(vectors.size, 3, "different texts have different vectors");
  }
});
