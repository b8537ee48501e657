"""What openai-python's types and streams say about chat calls with tools of `waitscope provider`.

The calls themselves are in `test_openai_tools.py`.
"""

from __future__ import annotations

import asyncio
import json

import pytest
from conftest import StartProvider
from openai import AsyncOpenAI, BaseModel, OpenAI

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {"order_id": {"type": "string"}, "lines": {"type": "integer"}},
                "required": ["order_id", "lines"],
            },
        },
    }
    for name in ("find_order", "cancel_order")
]
ASK = {
    "model": "chat-small",
    "messages": [{"role": "user", "content": "Where is order 4711?"}],
    "tools": TOOLS,
}
NAMED = {"type": "function", "function": {"name": "cancel_order"}}


@pytest.fixture
def client(start_provider: StartProvider) -> OpenAI:
    url = start_provider("--speed", "0")
    return OpenAI(base_url=f"{url}/v1", api_key="sk-not-a-real-key", max_retries=0)


def check_types(*answers: BaseModel) -> None:
    """The client itself takes answers without their fields; its types tell what must be there."""
    for answer in answers:
        type(answer).model_validate(answer.to_dict())


@pytest.mark.parametrize("choice", ["auto", "none", "required", NAMED], ids=str)
def test_no_field_is_missing(client: OpenAI, choice: object) -> None:
    ask = {**ASK, "tool_choice": choice}
    usage = {"include_usage": True}
    check_types(
        client.chat.completions.create(**ask),
        *client.chat.completions.create(**ask, stream=True, stream_options=usage),
    )


@pytest.mark.parametrize(
    ("choice", "called"),
    [("none", []), ("required", ["find_order"]), (NAMED, ["cancel_order"])],
    ids=["none", "required", "named"],
)
def test_the_caller_chooses_for_a_stream(client: OpenAI, choice: object, called: list) -> None:
    with client.chat.completions.stream(**ASK, tool_choice=choice) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        [told] = stream.get_final_completion().choices
    assert [event.name for event in done] == called
    assert [call.function.name for call in told.message.tool_calls or []] == called
    assert told.finish_reason == ("tool_calls" if called else "stop")
    assert bool(told.message.content) == (not called)
    for event in done:
        order = json.loads(event.arguments)
        assert isinstance(order["order_id"], str)
        assert isinstance(order["lines"], int)


def test_the_async_client_is_called_the_same(client: OpenAI) -> None:
    async def ask() -> str:
        async with AsyncOpenAI(base_url=client.base_url, api_key=client.api_key) as same:
            async with same.chat.completions.stream(**ASK) as stream:
                [choice] = (await stream.get_final_completion()).choices
                return choice.message.tool_calls[0].function.arguments

    [whole] = client.chat.completions.create(**ASK).choices
    assert asyncio.run(ask()) == whole.message.tool_calls[0].function.arguments
