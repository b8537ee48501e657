// One call through openai-node, as the JSON in the argument says, and what came of it: a line of
// JSON with what the caller has been given so far. `tests/python/faults` asks for it.

import OpenAI from "openai";

const asked = JSON.parse(process.argv[2]);
const seen = { text: "", finish: null, hasUsage: false, error: null, hangs: false };

function tellAndExit() {
  process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit(0));
}

// Whoever asked may be gone.
process.stdin.resume().once("end", () => process.exit(0));
setTimeout(() => {
  seen.hangs = true;
  tellAndExit();
}, asked.limitMs);

// What is printed is for whoever asked: the SDK tells of bad events there too.
console.error = () => {};

const client = new OpenAI({
  baseURL: `${asked.url}/v1`,
  apiKey: "sk-none",
  timeout: asked.timeoutMs,
});
const chat = {
  model: asked.chatModel,
  messages: [{ role: "user", content: asked.question }],
};
const options = { headers: asked.headers };
const { completions } = client.chat;

const calls = {
  async whole() {
    takeCompletion(await completions.create(chat, options));
  },
  async streamed() {
    const chunks = await completions.create(
      { ...chat, stream: true, ...asked.streamOptions },
      options,
    );
    for await (const chunk of chunks) takeChunk(chunk);
  },
  async collected() {
    const stream = completions.stream({ ...chat, ...asked.streamOptions }, options);
    takeCompletion(await stream.finalChatCompletion());
  },
  async embedding() {
    const body = { model: asked.embedModel, input: asked.question };
    const answer = await client.embeddings.create(body, options);
    seen.text = answer.data[0].embedding.map((number) => number.toFixed(6)).join(" ");
  },
  async responses() {
    const body = { model: asked.chatModel, input: asked.question, stream: true };
    for await (const event of await client.responses.create(body, options)) takeEvent(event);
  },
};

// A whole answer; what is not one at all (a text, say) fails here as in any program.
function takeCompletion(answer) {
  seen.text = answer.choices[0].message.content;
  seen.finish = answer.choices[0].finish_reason;
  seen.hasUsage = Boolean(answer.usage);
}

// A careful reader: it takes chunks without choices, and choices without delta.
function takeChunk(chunk) {
  seen.hasUsage ||= Boolean(chunk.usage);
  for (const choice of chunk.choices) {
    seen.text += choice.delta?.content ?? "";
    seen.finish = choice.finish_reason ?? seen.finish;
  }
}

// The text of a response, and how it ends.
function takeEvent(event) {
  if (event.type === "response.output_text.delta") seen.text += event.delta;
  if (event.type === "error") seen.finish = "error";
  if (event.type === "response.completed") {
    seen.finish = event.response.status;
    seen.hasUsage = Boolean(event.response.usage);
  }
}

// The name of the class; of a TypeError, which is what a broken connection gives, the message too.
function nameOf(error) {
  const name = error.constructor.name;
  return name === "TypeError" ? `${name}: ${error.message}` : name;
}

try {
  await calls[asked.call]();
} catch (error) {
  seen.error = nameOf(error);
}
tellAndExit();
