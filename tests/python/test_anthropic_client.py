"""The official anthropic-python client against `waitscope provider`."""

from __future__ import annotations

import asyncio
import re
import time

import anthropic
import httpx
import pydantic
import pytest
from anthropic import Anthropic, AsyncAnthropic, BaseModel
from conftest import StartProvider

CHAT_MODEL = "chat-small"
QUESTION = {"role": "user", "content": "My card was charged twice for one order."}
ASK = {"model": CHAT_MODEL, "max_tokens": 500, "messages": [QUESTION]}
TOOL = {
    "name": "find_order",
    "description": "Finds an order.",
    "input_schema": {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "lines": {"type": "integer"}},
        "required": ["order_id", "lines"],
    },
}
IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
}
LIMITS = ("requests", "tokens", "input-tokens", "output-tokens")
RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def client_of(url: str, **options: object) -> Anthropic:
    """Without retries unless told: a test sees the first answer."""
    defaults = {"api_key": "sk-not-a-real-key", "max_retries": 0}
    return Anthropic(base_url=url, **{**defaults, **options})


@pytest.fixture
def client(start_provider: StartProvider) -> Anthropic:
    return client_of(start_provider("--speed", "0"))


# --- Messages ------------------------------------------------------------------------------------


def test_a_whole_message(client: Anthropic) -> None:
    answer = client.messages.create(**ASK, system="Draft a reply.")
    assert (answer.type, answer.role, answer.model) == ("message", "assistant", CHAT_MODEL)
    assert answer.id.startswith("msg_")
    assert answer._request_id
    [block] = answer.content
    assert block.type == "text"
    assert QUESTION["content"] in block.text
    assert (answer.stop_reason, answer.stop_sequence) == ("end_turn", None)
    assert answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0


def test_a_streamed_message(client: Anthropic) -> None:
    # The SDK drops pings, so it is the raw body that shows them.
    events = list(client.messages.create(**ASK, stream=True))
    deltas = [event for event in events if event.type == "content_block_delta"]
    assert len(deltas) > 3
    assert {delta.index for delta in deltas} == {0}
    others = [event for event in events if event.type not in ("content_block_delta", "ping")]
    assert [event.type for event in others] == [
        "message_start",
        "content_block_start",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    start, block, _, end, _ = others
    assert (start.message.content, start.message.stop_reason) == ([], None)
    assert start.message.usage.input_tokens > 0
    assert (block.index, block.content_block.type, block.content_block.text) == (0, "text", "")
    assert end.delta.stop_reason == "end_turn"
    whole = client.messages.create(**ASK)
    assert "".join(event.delta.text for event in deltas) == whole.content[0].text
    assert start.message.usage.input_tokens == whole.usage.input_tokens
    assert end.usage.output_tokens == whole.usage.output_tokens


def test_a_stream_pings_and_names_its_events(client: Anthropic) -> None:
    with client.messages.with_streaming_response.create(**ASK, stream=True) as answer:
        lines = list(answer.iter_lines())
    names = [line.removeprefix("event: ") for line in lines if line.startswith("event:")]
    kinds = [line for line in lines if line.startswith("data:")]
    assert len(names) == len(kinds)
    assert "ping" in names
    assert all(f'"type":"{name}"' in kind for name, kind in zip(names, kinds, strict=True))


def test_the_client_collects_a_stream(client: Anthropic) -> None:
    with client.messages.stream(**ASK) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    whole = client.messages.create(**ASK)
    assert text == final.content[0].text == whole.content[0].text
    assert (final.stop_reason, final.usage.output_tokens) == ("end_turn", whole.usage.output_tokens)


def test_too_few_tokens_cut_it_off(client: Anthropic) -> None:
    answer = client.messages.create(**{**ASK, "max_tokens": 7})
    assert answer.stop_reason == "max_tokens"
    assert answer.usage.output_tokens == 7


def test_the_async_client_collects_a_stream(client: Anthropic) -> None:
    async def collect() -> tuple[str, anthropic.types.Message]:
        async with AsyncAnthropic(
            base_url=str(client.base_url), api_key="sk-not-a-real-key", max_retries=0
        ) as async_client:
            async with async_client.messages.stream(**ASK) as stream:
                text = "".join([piece async for piece in stream.text_stream])
                return text, await stream.get_final_message()

    text, final = asyncio.run(collect())
    assert text == final.content[0].text == client.messages.create(**ASK).content[0].text


def check_types(*answers: BaseModel) -> None:
    """The client itself takes answers without their fields; its types tell what must be there."""
    for answer in answers:
        type(answer).model_validate(answer.to_dict())


@pytest.mark.parametrize(
    "extra",
    [{}, {"tools": [TOOL]}, {"max_tokens": 3}],
    ids=["text", "tool", "cut"],
)
def test_no_field_is_missing(client: Anthropic, extra: dict) -> None:
    ask = {**ASK, **extra}
    check_types(client.messages.create(**ask), *client.messages.create(**ask, stream=True))


# --- Tools and images ----------------------------------------------------------------------------


def test_a_tool_is_called(client: Anthropic) -> None:
    answer = client.messages.create(**ASK, tools=[TOOL])
    assert answer.stop_reason == "tool_use"
    [call] = [block for block in answer.content if block.type == "tool_use"]
    assert call.name == "find_order"
    assert call.id.startswith("toolu_")
    check_order(call.input)
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "In Bremen."}
    messages = [
        QUESTION,
        {"role": "assistant", "content": answer.content},
        {"role": "user", "content": [result]},
    ]
    told = client.messages.create(**{**ASK, "messages": messages}, tools=[TOOL])
    assert told.stop_reason == "end_turn"
    assert [block.type for block in told.content] == ["text"]


def test_a_streamed_call_comes_in_pieces(client: Anthropic) -> None:
    with client.messages.stream(**ASK, tools=[TOOL]) as stream:
        pieces = [event.partial_json for event in stream if event.type == "input_json"]
        final = stream.get_final_message()
    assert len(pieces) > 1
    assert final.stop_reason == "tool_use"
    [call] = [block for block in final.content if block.type == "tool_use"]
    check_order(call.input)


def check_order(order: object) -> None:
    assert isinstance(order["order_id"], str)
    assert isinstance(order["lines"], int)


def test_the_caller_chooses(client: Anthropic) -> None:
    other = {"name": "send_mail", "input_schema": {"type": "object"}}

    def called(choice: dict) -> list[str]:
        answer = client.messages.create(**ASK, tools=[TOOL, other], tool_choice=choice)
        return [block.name for block in answer.content if block.type == "tool_use"]

    assert called({"type": "any"}) == ["find_order"]
    assert called({"type": "tool", "name": "send_mail"}) == ["send_mail"]
    assert called({"type": "none"}) == []


def test_tokens_are_counted_as_they_are_charged(client: Anthropic) -> None:
    text = {"type": "text", "text": "What is on it?"}

    def count(*parts: dict) -> int:
        prompt = {"model": CHAT_MODEL, "messages": [{"role": "user", "content": [text, *parts]}]}
        counted = client.messages.count_tokens(**prompt).input_tokens
        answer = client.messages.create(**prompt, max_tokens=500)
        assert "What is on it?" in answer.content[0].text
        assert answer.usage.input_tokens == counted
        return counted

    assert count(IMAGE) == count() + 85


def test_a_system_prompt_is_counted(client: Anthropic) -> None:
    def count(**system: object) -> int:
        prompt = {"model": CHAT_MODEL, "messages": [QUESTION], **system}
        counted = client.messages.count_tokens(**prompt).input_tokens
        answer = client.messages.create(**prompt, max_tokens=500)
        assert answer.usage.input_tokens == counted
        return counted

    text = "Draft a reply."
    assert count(system=text) == count(system=[{"type": "text", "text": text}]) > count()


# --- Models, errors, limits ----------------------------------------------------------------------


def test_models(client: Anthropic) -> None:
    names = [model.id for model in client.models.list()]
    assert CHAT_MODEL in names
    model = client.models.retrieve(CHAT_MODEL)
    assert (model.id, model.type) == (CHAT_MODEL, "model")
    assert model.display_name and model.created_at
    with pytest.raises(anthropic.NotFoundError) as caught:
        client.models.retrieve("no-such-model")
    assert caught.value.body["error"]["type"] == "not_found_error"
    assert "no-such-model" in caught.value.message
    assert caught.value.request_id


def test_no_field_of_a_model_is_missing(client: Anthropic) -> None:
    check_types(client.models.retrieve(CHAT_MODEL), *client.models.list())


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, anthropic.BadRequestError, "invalid_request_error"),
        (401, anthropic.AuthenticationError, "authentication_error"),
        (403, anthropic.PermissionDeniedError, "permission_error"),
        (404, anthropic.NotFoundError, "not_found_error"),
        (413, anthropic.ContentTooLargeError, "request_too_large"),
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (529, anthropic.OverloadedError, "overloaded_error"),
    ],
)
def test_errors_have_their_types(client: Anthropic, status: int, error: type, kind: str) -> None:
    with pytest.raises(error) as caught:
        client.messages.create(**ASK, extra_headers={"x-waitscope-fault": f"status={status}"})
    assert caught.value.status_code == status
    body = caught.value.body
    assert (body["type"], body["error"]["type"]) == ("error", kind)
    assert body["error"]["message"]
    assert body["request_id"] == caught.value.request_id


def test_a_senseless_request_is_a_bad_request(client: Anthropic) -> None:
    for wrong in ({"temperature": 5}, {"max_tokens": 0}, {"messages": []}):
        [field] = wrong
        with pytest.raises(anthropic.BadRequestError) as caught:
            client.messages.create(**ASK, extra_body=wrong)
        assert field in caught.value.message


def test_a_body_may_have_16_mib(client: Anthropic) -> None:
    def send(image_bytes: int) -> None:
        # An image costs the same tokens however large it is, so only the body's length counts.
        source = {**IMAGE["source"], "data": "A" * image_bytes}
        question = {"role": "user", "content": [{**IMAGE, "source": source}]}
        client.messages.count_tokens(model=CHAT_MODEL, messages=[question])

    send(15 * 2**20)
    with pytest.raises(anthropic.ContentTooLargeError) as caught:
        send(16 * 2**20)
    assert caught.value.body["error"]["type"] == "request_too_large"
    assert caught.value.request_id


def test_an_error_in_the_stream_is_raised(client: Anthropic) -> None:
    seen = ""
    with pytest.raises(anthropic.APIStatusError) as caught:
        stream = client.messages.create(
            **ASK, stream=True, extra_headers={"x-waitscope-fault": "error-after=5"}
        )
        for event in stream:
            if event.type == "content_block_delta":
                seen += event.delta.text
    assert seen
    assert caught.value.body["error"]["type"] in ("api_error", "overloaded_error")


def test_limits_are_told(client: Anthropic) -> None:
    answer = client.messages.with_raw_response.create(**ASK)
    for limit in LIMITS:
        told = {
            part: answer.headers[f"anthropic-ratelimit-{limit}-{part}"]
            for part in ("limit", "remaining", "reset")
        }
        assert 0 < int(told["remaining"]) <= int(told["limit"])
        assert RFC_3339.fullmatch(told["reset"]), told


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_output_tokens_are_charged_when_they_are_there(client: Anthropic, stream: bool) -> None:
    def remaining() -> int:
        """What there was to spend when the answer began."""
        answer = client.messages.with_raw_response.create(**ASK, stream=stream)
        if stream:
            list(answer.parse())
        return int(answer.headers["anthropic-ratelimit-output-tokens-remaining"])

    answer = client.messages.with_raw_response.create(**ASK)
    answer_tokens = answer.parse().usage.output_tokens
    limit = int(answer.headers["anthropic-ratelimit-output-tokens-limit"])
    assert int(answer.headers["anthropic-ratelimit-output-tokens-remaining"]) == limit, (
        "max_tokens are not charged"
    )
    calls = 20
    start = time.monotonic()
    before = remaining()
    for _ in range(calls - 1):
        remaining()
    spent = before - remaining()
    flowed_back = (time.monotonic() - start) * limit / 60
    asked = calls * answer_tokens
    assert asked - flowed_back - 1 <= spent <= asked + 1


def test_a_429_is_retried_when_the_answer_says(start_provider: StartProvider) -> None:
    url = start_provider("--speed", "0", "--mode", "quota")
    with pytest.raises(anthropic.RateLimitError) as caught:
        for _ in range(30):  # A tenth of the quota is 10 calls a minute.
            client_of(url).messages.create(**ASK)
    headers = caught.value.response.headers
    assert headers["anthropic-ratelimit-requests-remaining"] == "0"
    wait_s = min(float(headers["retry-after"]), float(headers["retry-after-ms"]) / 1000)
    assert wait_s > 2, "the SDK's own first pause is at most half a second"
    start = time.monotonic()
    # One retry: it fails again unless it comes when the quota has room.
    client_of(url, max_retries=1).messages.create(**ASK)
    assert time.monotonic() - start > 0.8 * wait_s
    assert calls(url)["429"] == 2


def test_an_overload_is_retried(start_provider: StartProvider) -> None:
    # The provider is overloaded for a while, and says that trying at once makes no sense.
    url = start_provider("--speed", "0", "--timeline", "at 0s for 2s: status=529,retry-after=3")
    client_of(url, max_retries=1).messages.create(**ASK)
    assert calls(url) == {"529": 1, "200": 1}


def test_chance_overloads_are_retried_until_it_works(start_provider: StartProvider) -> None:
    # The seed decides which attempts fail; each question is overloaded or not by itself.
    url = start_provider("--speed", "0", "--fault", "status=529@40%", "--seed", "1")
    client = client_of(url, max_retries=8)
    for number in range(5):
        question = {"role": "user", "content": f"Where is order {number}?"}
        answer = client.messages.create(**{**ASK, "messages": [question]})
        assert question["content"] in answer.content[0].text
    assert calls(url)["200"] == 5
    assert calls(url)["529"] > 0


def calls(url: str) -> dict:
    """How often each status was answered."""
    stats = httpx.get(f"{url}/admin/stats").raise_for_status().json()
    [by_status] = stats["calls"].values()
    return by_status
