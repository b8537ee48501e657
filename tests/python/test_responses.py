"""What openai-python's helpers, async client and types say about responses of `waitscope provider`.

The calls themselves are in `test_openai_responses.py`.
"""

from __future__ import annotations

import asyncio
import json

import pydantic
import pytest
from conftest import StartProvider
from openai import AsyncOpenAI, BaseModel, OpenAI
from openai.types.responses import Response, ResponseStreamEvent

QUESTION = "My card was charged twice for one order."
ASK = {"model": "chat-small", "input": QUESTION}
TOOL = {
    "type": "function",
    "name": "find_order",
    "strict": False,
    "parameters": {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "lines": {"type": "integer"}},
        "required": ["order_id", "lines"],
    },
}
CASES = pytest.mark.parametrize(
    "extra",
    [{}, {"tools": [TOOL]}, {"max_output_tokens": 16}],
    ids=["text", "tool", "cut"],
)


@pytest.fixture
def client(start_provider: StartProvider) -> OpenAI:
    url = start_provider("--speed", "0")
    return OpenAI(base_url=f"{url}/v1", api_key="sk-not-a-real-key", max_retries=0)


# --- The helper for streams ----------------------------------------------------------------------


def read(client: OpenAI, **options: object) -> tuple[list[ResponseStreamEvent], Response]:
    with client.responses.stream(**ASK, **options) as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert [event.sequence_number for event in events] == list(range(len(events)))
    return events, final


def test_the_helper_tells_a_text(client: OpenAI) -> None:
    events, final = read(client)
    deltas = [event for event in events if event.type == "response.output_text.delta"]
    # Beside each piece the helper tells all of the text so far.
    assert deltas[-1].snapshot == "".join(event.delta for event in deltas) == final.output_text
    assert events[0].type == "response.created"
    assert events[-1].type == "response.completed"


def test_the_helper_tells_a_call(client: OpenAI) -> None:
    events, final = read(client, tools=[TOOL])
    assert [event.type for event in events if not event.type.endswith(".delta")] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    deltas = [event for event in events if event.type == "response.function_call_arguments.delta"]
    [call] = final.output
    assert deltas[-1].snapshot == "".join(event.delta for event in deltas) == call.arguments
    order = json.loads(call.arguments)
    assert isinstance(order["order_id"], str)
    assert isinstance(order["lines"], int)
    [added] = [event.item for event in events if event.type == "response.output_item.added"]
    assert (added.id, added.call_id, added.name) == (call.id, call.call_id, "find_order")
    assert (added.arguments, added.status) == ("", "in_progress")


# --- The async client ----------------------------------------------------------------------------


def test_the_async_client_gets_the_same(client: OpenAI) -> None:
    async def ask() -> tuple[str, str]:
        async with AsyncOpenAI(base_url=client.base_url, api_key=client.api_key) as same:
            whole = await same.responses.create(**ASK)
            events = [event async for event in await same.responses.create(**ASK, stream=True)]
            deltas = [event for event in events if event.type == "response.output_text.delta"]
            return whole.output_text, "".join(event.delta for event in deltas)

    whole, streamed = asyncio.run(ask())
    assert whole == streamed == client.responses.create(**ASK).output_text


# --- The types -----------------------------------------------------------------------------------


def check_types(*answers: BaseModel) -> None:
    """The client itself takes answers without their fields; its types tell what must be there."""
    for answer in answers:
        type(answer).model_validate(answer.to_dict())


@CASES
def test_no_field_of_an_event_is_missing(client: OpenAI, extra: dict) -> None:
    *events, last = client.responses.create(**ASK, **extra, stream=True)
    assert last.type in ("response.completed", "response.incomplete")
    check_types(*events)


@CASES
def test_no_field_of_a_response_is_missing(client: OpenAI, extra: dict) -> None:
    check_types(client.responses.create(**ASK, **extra))


def test_an_error_in_the_stream_is_numbered(client: OpenAI) -> None:
    fault = {"x-waitscope-fault": "error-after=5"}
    events = list(client.responses.create(**ASK, stream=True, extra_headers=fault))
    assert events[-1].type == "error"
    assert [event.sequence_number for event in events] == list(range(len(events)))
