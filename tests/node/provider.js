// Starts the real provider that a test talks to, and surely ends it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";

import OpenAI from "openai";

export const CHAT_MODEL = "chat-small";
export const EMBED_MODEL = "embed-small";
export const MESSAGES = [
  { role: "system", content: "Draft a reply." },
  { role: "user", content: "My card was charged twice for one order." },
];

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 15_000;
const ANNOUNCEMENT = /^listening on (http:\/\/127\.0\.0\.1:\d+)$/;

/**
 * Starts `waitscope provider` with these flags and gives its URL. It ends after the test `t`,
 * which then checks that SIGTERM ended it with 0.
 */
export async function startProvider(t, ...flags) {
  // A run that is killed closes the pipe, and that ends the provider as well.
  const command = ["provider", "--port", "0", "--exit-with-stdin", ...flags];
  const server = spawn(waitscopeBinary(), command, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => server.once("exit", (code) => resolve(code)));
  t.after(async () => {
    server.kill("SIGTERM");
    const code = await within(STOP_TIMEOUT_MS, ended).finally(() => server.kill("SIGKILL"));
    assert.equal(code, 0, "the provider's exit code");
  });
  return announcedUrl(server);
}

/** The binary under test. It is never skipped: without it the whole run fails. */
function waitscopeBinary() {
  const path = process.env.WAITSCOPE_BIN;
  assert(path, "set WAITSCOPE_BIN to the built binary, or run `cargo xtask test`");
  assert(existsSync(path), `WAITSCOPE_BIN=${path} does not exist; run \`cargo build\` first`);
  return path;
}

/** Reads the URL from the first line that the server prints; the other lines are thrown away. */
async function announcedUrl(server) {
  const lines = createInterface({ input: server.stdout });
  const first = new Promise((resolve, reject) => {
    lines.once("line", resolve);
    server.once("error", reject);
    server.once("exit", (code) => reject(new Error(`the provider ended at once with ${code}`)));
  });
  const line = await within(START_TIMEOUT_MS, first);
  assert.match(line, ANNOUNCEMENT);
  return line.match(ANNOUNCEMENT)[1];
}

async function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing for ${ms / 1000} s`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Without retries unless told: a test sees the first answer. */
export function clientOf(url, options = {}) {
  return new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: "sk-not-a-real-key",
    maxRetries: 0,
    timeout: 30_000,
    ...options,
  });
}

/** What the provider counted. */
export async function stats(url) {
  return (await fetch(`${url}/admin/stats`)).json();
}
