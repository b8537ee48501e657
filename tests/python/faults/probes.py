"""One call through each client, and what came of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import anthropic
import litellm
import openai

from . import cases

CHAT_MODEL = "chat-small"
EMBED_MODEL = "embed-small"
# Characters of two, three and four bytes: torn ones would show.
QUESTION = "Mein Päckchen 📦 ist zerdrückt 漢字"
MESSAGES = [{"role": "user", "content": QUESTION}]
# What each client is told to wait for an answer, or for the next piece of it.
TIMEOUT_S = 1.5
# What every client is given before it counts as hanging: more than three timeouts with two pauses.
LIMIT_S = 9.0
# It prints advertisements with each exception.
litellm.suppress_debug_info = True
NODE_TESTS = Path(__file__).resolve().parents[2] / "node"


@dataclass
class Seen:
    """What a client let its caller see so far."""

    # The text, or the numbers of an embedding.
    text: str = ""
    finish: str | None = None
    has_usage: bool = False
    error: str | None = None
    ended: bool = False


Probe = Callable[[str, cases.Case, Seen], None]


class HangsError(Exception):
    """The client was still waiting when the time of a probe was over."""


def run(client: str, probe: Probe, url: str, case: cases.Case, seen: Seen) -> None:
    """Calls, and keeps the exception's name as it stands in the client's documentation."""
    try:
        probe(url, case, seen)
    except HangsError:
        return
    except Exception as error:
        seen.error = error_name(client, error)
    seen.ended = True


def error_name(client: str, error: Exception) -> str:
    """The client's own classes bare, other packages' ones with their package."""
    kind = type(error)
    package = kind.__module__.partition(".")[0]
    own = package in ("builtins", client.partition("-")[0])
    return kind.__name__ if own else f"{package}.{kind.__name__}"


def headers(case: cases.Case) -> dict[str, str]:
    return {"x-waitscope-fault": case.fault} if case.fault else {}


def stream_options(case: cases.Case) -> dict:
    return {"stream_options": {"include_usage": True}} if case.asks_usage else {}


def openai_python(url: str, case: cases.Case, seen: Seen) -> None:
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="sk-none", timeout=TIMEOUT_S)
    chat = {"model": CHAT_MODEL, "messages": MESSAGES, "extra_headers": headers(case)}
    completions = client.chat.completions
    match case.call:
        case cases.EMBEDDING:
            answer = client.embeddings.create(
                model=EMBED_MODEL, input=QUESTION, extra_headers=headers(case)
            )
            seen.text = numbers(answer.data[0].embedding)
        case cases.WHOLE:
            take_completion(completions.create(**chat), seen)
        case cases.STREAMED:
            take_chunks(completions.create(**chat, stream=True, **stream_options(case)), seen)
        case cases.COLLECTED:
            with completions.stream(**chat, **stream_options(case)) as stream:
                take_completion(stream.get_final_completion(), seen)
        case cases.RESPONSES:
            asked = {"model": CHAT_MODEL, "input": QUESTION, "extra_headers": headers(case)}
            take_events(client.responses.create(**asked, stream=True), seen)


def litellm_probe(url: str, case: cases.Case, seen: Seen) -> None:
    to = {
        "api_base": f"{url}/v1",
        "api_key": "sk-none",
        "timeout": TIMEOUT_S,
        "extra_headers": headers(case),
    }
    chat = {"model": f"openai/{CHAT_MODEL}", "messages": MESSAGES, **to}
    match case.call:
        case cases.EMBEDDING:
            answer = litellm.embedding(model=f"openai/{EMBED_MODEL}", input=[QUESTION], **to)
            seen.text = numbers(answer.data[0]["embedding"])
        case cases.WHOLE:
            take_completion(litellm.completion(**chat), seen)
        case cases.STREAMED:
            take_chunks(litellm.completion(**chat, stream=True, **stream_options(case)), seen)
        case cases.COLLECTED:
            chunks = list(litellm.completion(**chat, stream=True, **stream_options(case)))
            take_completion(litellm.stream_chunk_builder(chunks, messages=MESSAGES), seen)


def take_completion(answer: object, seen: Seen) -> None:
    """A whole answer; what is not one at all (a text, say) fails here as in any program."""
    seen.text = answer.choices[0].message.content
    seen.finish = answer.choices[0].finish_reason
    seen.has_usage = getattr(answer, "usage", None) is not None


def take_chunks(chunks: object, seen: Seen) -> None:
    """A careful reader: it takes chunks without choices, and choices without delta."""
    for chunk in chunks:
        seen.has_usage = seen.has_usage or getattr(chunk, "usage", None) is not None
        for choice in chunk.choices:
            seen.text += (choice.delta and choice.delta.content) or ""
            seen.finish = choice.finish_reason or seen.finish


def take_events(events: object, seen: Seen) -> None:
    """The text of a response, and how it ends."""
    for event in events:
        if event.type == "response.output_text.delta":
            seen.text += event.delta
        elif event.type == "error":
            seen.finish = "error"
        elif event.type == "response.completed":
            seen.finish = event.response.status
            seen.has_usage = event.response.usage is not None


def anthropic_python(url: str, case: cases.Case, seen: Seen) -> None:
    client = anthropic.Anthropic(base_url=url, api_key="sk-none", timeout=TIMEOUT_S)
    message = {
        "model": CHAT_MODEL,
        "max_tokens": 500,
        "messages": MESSAGES,
        "extra_headers": headers(case),
    }
    if case.call == cases.WHOLE:
        answer = client.messages.create(**message)
        seen.text = answer.content[0].text
    else:
        with client.messages.stream(**message) as stream:
            for text in stream.text_stream:
                seen.text += text
            answer = stream.get_final_message()
    seen.finish = answer.stop_reason
    seen.has_usage = bool(answer.usage and answer.usage.output_tokens)


def openai_node(url: str, case: cases.Case, seen: Seen) -> None:
    """A process of its own: what it prints is what it has seen so far."""
    asked = {
        "url": url,
        "headers": headers(case),
        "call": case.call,
        "streamOptions": stream_options(case),
        "chatModel": CHAT_MODEL,
        "embedModel": EMBED_MODEL,
        "question": QUESTION,
        "timeoutMs": TIMEOUT_S * 1000,
        "limitMs": LIMIT_S * 1000,
    }
    command = ["node", str(NODE_TESTS / "fault_probe.js"), json.dumps(asked)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as node:
        for line in node.stdout:
            told = json.loads(line)
            seen.text = told["text"]
            seen.finish = told["finish"]
            seen.has_usage = told["hasUsage"]
            seen.error = told["error"]
    if node.returncode != 0:
        raise RuntimeError(f"the Node probe ended with {node.returncode}")
    if told["hangs"]:
        raise HangsError


def numbers(embedding: list[float]) -> str:
    """A vector as text."""
    return " ".join(f"{number:.6f}" for number in embedding)


# The columns, in their order.
PROBES: dict[str, Probe] = {
    "openai-python": openai_python,
    "openai-node": openai_node,
    "litellm": litellm_probe,
    "anthropic-python": anthropic_python,
}
