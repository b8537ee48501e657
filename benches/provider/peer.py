"""The same endpoints as `waitscope provider`, as a team would write them for its own tests: FastAPI
on uvicorn with uvloop and httptools. The benchmark runs both side by side.

    uvicorn --app-dir benches/provider peer:app --loop uvloop --http httptools
"""

import asyncio
import itertools
import json
import re
import time
from typing import Literal

from fastapi import FastAPI, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

app = FastAPI()
numbers = itertools.count()
CHAT_GAP_SECONDS = 0.04
TOKENS = ["Who ", "waits ", "well ", "is ", "not ", "busy. "]
TEAMS = {
    "billing": {"bill", "card", "charge", "invoice", "pay", "payment", "price", "refund"},
    "technical": {"api", "app", "bug", "crash", "error", "outage", "server", "timeout"},
    "shipping": {"address", "courier", "delivery", "order", "parcel", "tracking"},
}


class Message(BaseModel):
    role: Literal["developer", "system", "user", "assistant", "tool"]
    content: str | list[dict] | None = None
    name: str | None = None


class Chat(BaseModel):
    model: str = Field(min_length=1, max_length=200)
    messages: list[Message] = Field(min_length=1)
    stream: bool | None = None
    max_tokens: int | None = Field(default=None, ge=1, le=128_000)
    n: int | None = Field(default=None, ge=1, le=128)
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)


def reply_to(text: str) -> str:
    words = set(re.findall(r"\w+", text.lower()))
    team = max(TEAMS, key=lambda team: len(TEAMS[team] & words))
    return (
        f'Hello,\n\nthank you for your message about "{text[:60]}". I have passed it on to our '
        f"{team} team. They will check what is wrong and correct it. They will answer within one "
        "working day. You need not do anything until then — we will write to you 🙂\n\n"
        "Kind regards\nCustomer support"
    )


@app.post("/v1/chat/completions")
async def chat(request: Chat, response: Response):
    text = request.messages[-1].content or ""
    reply = reply_to(text if isinstance(text, str) else "")
    prompt_tokens, answer_tokens = len(text) // 4 + 6, len(reply) // 4
    number = next(numbers)
    if request.stream:
        return StreamingResponse(chunks(number, request), media_type="text/event-stream")
    response.headers["x-request-id"] = f"req_{number:016x}"
    response.headers["openai-processing-ms"] = "0"
    return {
        "id": f"chatcmpl-{number:032x}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.model,
        "choices": [
            {
                "index": index,
                "message": {"role": "assistant", "content": reply, "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
            for index in range(request.n or 1)
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": answer_tokens,
            "total_tokens": prompt_tokens + answer_tokens,
        },
        "service_tier": "default",
        "system_fingerprint": "fp_peer",
    }


async def chunks(number: int, request: Chat):
    """A streamed chat, as the benchmark wants it: `max_tokens` tokens, one each 40 ms, the first
    one after half of the whole time.
    """
    tokens = request.max_tokens or 60
    id, created = f"chatcmpl-{number:032x}", int(time.time())

    def chunk(delta: dict, finish_reason: str | None = None) -> str:
        data = {
            "id": id,
            "object": "chat.completion.chunk",
            "created": created,
            "model": request.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
        }
        return f"data: {json.dumps(data)}\n\n"

    loop = asyncio.get_running_loop()
    due = loop.time() + (tokens - 1) * CHAT_GAP_SECONDS
    yield chunk({"role": "assistant", "content": ""})
    for token in range(tokens):
        await asyncio.sleep(max(0.0, due - loop.time()))
        yield chunk({"content": TOKENS[token % 6]})
        due += CHAT_GAP_SECONDS
    yield chunk({}, "length")
    yield "data: [DONE]\n\n"


@app.get("/v1/complete")
async def complete(ttft: float = 0.4, tokens: int = 40, tok_ms: float = 40):
    seconds = ttft + tokens * tok_ms / 1000
    if seconds:
        await asyncio.sleep(seconds)
    text = "".join(TOKENS[token % 6] for token in range(tokens))
    return {"text": text, "tokens": tokens, "planned_ms": seconds * 1000}


@app.get("/v1/stream")
async def stream(ttft: float = 0.4, tokens: int = 40, tok_ms: float = 40):
    async def events():
        loop = asyncio.get_running_loop()
        due = loop.time() + ttft
        for token in range(tokens):
            # Until an absolute time, so that a late token does not delay the next ones.
            await asyncio.sleep(max(0.0, due - loop.time()))
            yield f"data: {json.dumps({'token': TOKENS[token % 6]})}\n\n"
            due += tok_ms / 1000
        yield "data: [DONE]\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")
