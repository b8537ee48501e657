"""openai-python's responses against `waitscope provider`."""

from __future__ import annotations

import json

import openai
import pytest
from conftest import StartProvider
from openai import OpenAI
from openai.types.responses import ResponseStreamEvent

CHAT_MODEL = "chat-small"
QUESTION = "My card was charged twice for one order."
TOOL = {
    "type": "function",
    "name": "find_order",
    "strict": False,
    "parameters": {
        "type": "object",
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
    },
}


@pytest.fixture
def client(start_provider: StartProvider) -> OpenAI:
    url = start_provider("--speed", "0")
    return OpenAI(base_url=f"{url}/v1", api_key="sk-not-a-real-key", max_retries=0)


def stream(client: OpenAI, **options: object) -> list[ResponseStreamEvent]:
    """The events of a stream, whose numbers leave none out."""
    ask = {"model": CHAT_MODEL, "input": QUESTION, **options}
    events = list(client.responses.create(**ask, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    return events


def test_a_whole_response(client: OpenAI) -> None:
    answer = client.responses.create(model=CHAT_MODEL, input=QUESTION)
    assert (answer.object, answer.status, answer.model) == ("response", "completed", CHAT_MODEL)
    assert answer.id.startswith("resp_")
    [message] = answer.output
    assert (message.type, message.role, message.status) == ("message", "assistant", "completed")
    assert answer.output_text
    usage = answer.usage
    assert usage.input_tokens > 0 and usage.output_tokens > 0
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens


def test_a_list_of_messages_and_instructions(client: OpenAI) -> None:
    parts = [{"type": "input_text", "text": QUESTION}]
    answer = client.responses.create(
        model=CHAT_MODEL,
        instructions="Draft a reply.",
        input=[{"role": "user", "content": parts}],
    )
    assert QUESTION in answer.output_text


def test_a_streamed_response(client: OpenAI) -> None:
    events = stream(client)
    deltas = [event for event in events if event.type == "response.output_text.delta"]
    assert len(deltas) > 3
    others = [event.type for event in events if event.type != "response.output_text.delta"]
    assert others == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    text = "".join(event.delta for event in deltas)
    completed = events[-1].response
    whole = client.responses.create(model=CHAT_MODEL, input=QUESTION)
    assert text == completed.output_text == whole.output_text
    assert events[0].response.status == "in_progress"
    assert (completed.id, completed.status) == (events[0].response.id, "completed")
    assert completed.usage == whole.usage


def test_the_client_collects_a_stream(client: OpenAI) -> None:
    with client.responses.stream(model=CHAT_MODEL, input=QUESTION) as stream:
        final = stream.get_final_response()
    whole = client.responses.create(model=CHAT_MODEL, input=QUESTION)
    assert final.output_text == whole.output_text


def test_a_tool_is_called(client: OpenAI) -> None:
    answer = client.responses.create(model=CHAT_MODEL, input=QUESTION, tools=[TOOL])
    [call] = answer.output
    assert (call.type, call.name, call.status) == ("function_call", "find_order", "completed")
    assert isinstance(json.loads(call.arguments)["order_id"], str)
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "In Bremen."}
    question = {"role": "user", "content": QUESTION}
    told = client.responses.create(model=CHAT_MODEL, input=[question, call, result], tools=[TOOL])
    assert [item.type for item in told.output] == ["message"]


def test_a_streamed_call_comes_in_pieces(client: OpenAI) -> None:
    events = stream(client, tools=[TOOL])
    deltas = [event for event in events if event.type == "response.function_call_arguments.delta"]
    assert len(deltas) > 1
    [done] = [event for event in events if event.type == "response.function_call_arguments.done"]
    assert "".join(event.delta for event in deltas) == done.arguments
    [call] = events[-1].response.output
    assert (call.name, call.arguments) == ("find_order", done.arguments)


def test_too_few_tokens_leave_it_incomplete(client: OpenAI) -> None:
    ask = {"model": CHAT_MODEL, "input": QUESTION, "max_output_tokens": 16}
    whole = client.responses.create(**ask)
    last = stream(client, max_output_tokens=16)[-1]
    assert last.type == "response.incomplete"
    for answer in (whole, last.response):
        assert answer.status == "incomplete"
        assert answer.incomplete_details.reason == "max_output_tokens"
        assert answer.usage.output_tokens == 16


def test_json_is_asked_for_by_its_format(client: OpenAI) -> None:
    answer = client.responses.create(
        model=CHAT_MODEL, input=QUESTION, text={"format": {"type": "json_object"}}
    )
    assert json.loads(answer.output_text)["team"] == "billing"


def test_images_are_taken(client: OpenAI) -> None:
    parts = [
        {"type": "input_text", "text": "What is on it?"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
    ]
    answer = client.responses.create(
        model=CHAT_MODEL, input=[{"role": "user", "content": parts}]
    )
    assert "What is on it?" in answer.output_text
    assert answer.usage.input_tokens > 85


def test_a_senseless_request_is_a_bad_request(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model=CHAT_MODEL, input=QUESTION, temperature=-5)
    assert caught.value.type == "invalid_request_error"
    assert caught.value.param == "temperature"
