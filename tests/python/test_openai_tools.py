"""openai-python's chat calls with tools and images against `waitscope provider`."""

from __future__ import annotations

import json

import pytest
from conftest import StartProvider
from openai import OpenAI

CHAT_MODEL = "chat-small"
QUESTION = {"role": "user", "content": "Where is order 4711?"}
ORDER = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string"},
        "urgency": {"type": "string", "enum": ["low", "high"]},
        "lines": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["order_id", "urgency", "lines"],
}
TOOLS = [
    {"type": "function", "function": {"name": "find_order", "parameters": ORDER}},
    {"type": "function", "function": {"name": "send_mail", "parameters": {"type": "object"}}},
]
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def client(start_provider: StartProvider) -> OpenAI:
    url = start_provider("--speed", "0")
    return OpenAI(base_url=f"{url}/v1", api_key="sk-not-a-real-key", max_retries=0)


def check_order(arguments: str) -> None:
    order = json.loads(arguments)
    assert isinstance(order["order_id"], str)
    assert order["urgency"] in ("low", "high")
    assert all(isinstance(line, int) for line in order["lines"])


def test_a_tool_is_called(client: OpenAI) -> None:
    answer = client.chat.completions.create(model=CHAT_MODEL, messages=[QUESTION], tools=TOOLS)
    [choice] = answer.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content is None
    [call] = choice.message.tool_calls
    assert call.type == "function"
    assert call.id
    assert call.function.name == "find_order"
    check_order(call.function.arguments)


def test_a_streamed_call_comes_in_pieces(client: OpenAI) -> None:
    stream = client.chat.completions.create(
        model=CHAT_MODEL, messages=[QUESTION], tools=TOOLS, stream=True
    )
    chunks = list(stream)
    [first, *rest] = [
        call for chunk in chunks for call in (chunk.choices[0].delta.tool_calls or [])
    ]
    assert (first.index, first.type, first.function.name) == (0, "function", "find_order")
    assert first.id
    assert len(rest) > 3
    assert all((piece.index, piece.id, piece.function.name) == (0, None, None) for piece in rest)
    arguments = "".join(piece.function.arguments for piece in [first, *rest])
    check_order(arguments)
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    whole = client.chat.completions.create(model=CHAT_MODEL, messages=[QUESTION], tools=TOOLS)
    assert arguments == whole.choices[0].message.tool_calls[0].function.arguments


def test_the_client_collects_a_streamed_call(client: OpenAI) -> None:
    with client.chat.completions.stream(
        model=CHAT_MODEL, messages=[QUESTION], tools=TOOLS
    ) as stream:
        [choice] = stream.get_final_completion().choices
    assert choice.finish_reason == "tool_calls"
    [call] = choice.message.tool_calls
    check_order(call.function.arguments)


def test_the_caller_chooses(client: OpenAI) -> None:
    def ask(choice: object) -> object:
        answer = client.chat.completions.create(
            model=CHAT_MODEL, messages=[QUESTION], tools=TOOLS, tool_choice=choice
        )
        return answer.choices[0]

    named = ask({"type": "function", "function": {"name": "send_mail"}})
    assert [call.function.name for call in named.message.tool_calls] == ["send_mail"]
    assert ask("required").message.tool_calls
    none = ask("none")
    assert none.finish_reason == "stop" and none.message.content and not none.message.tool_calls


def test_a_tools_result_gets_text(client: OpenAI) -> None:
    asked = client.chat.completions.create(model=CHAT_MODEL, messages=[QUESTION], tools=TOOLS)
    message = asked.choices[0].message
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "In Bremen."}
    told = client.chat.completions.create(
        model=CHAT_MODEL, messages=[QUESTION, message, result], tools=TOOLS
    )
    assert told.choices[0].finish_reason == "stop"
    assert told.choices[0].message.content


def test_images_are_taken_and_counted(client: OpenAI) -> None:
    def ask(*parts: dict) -> int:
        text = {"type": "text", "text": "What is on it?"}
        answer = client.chat.completions.create(
            model=CHAT_MODEL, messages=[{"role": "user", "content": [text, *parts]}]
        )
        assert "What is on it?" in answer.choices[0].message.content
        return answer.usage.prompt_tokens

    image = {"type": "image_url", "image_url": {"url": PIXEL}}
    assert ask(image) == ask() + 85
