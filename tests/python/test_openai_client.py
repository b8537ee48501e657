"""The official openai-python client against `waitscope provider`: a real client must not notice.

Every test starts a provider of its own, so none sees another one's quota or counters.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Callable

import httpx
import openai
import pytest
from conftest import StartProvider
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionChunk

CHAT_MODEL = "chat-small"
EMBED_MODEL = "embed-small"
MESSAGES = [
    {"role": "system", "content": "Draft a reply."},
    {"role": "user", "content": "My card was charged twice for one order."},
]
AT_ONCE = ("--speed", "0")


def client_of(url: str) -> OpenAI:
    """Without retries: a test sees the first answer."""
    return OpenAI(base_url=f"{url}/v1", api_key="sk-not-a-real-key", max_retries=0, timeout=30)


@pytest.fixture
def client(start_provider: StartProvider) -> OpenAI:
    return client_of(start_provider(*AT_ONCE))


def set_mode(client: OpenAI, mode: str) -> None:
    url = str(client.base_url).removesuffix("/v1/")
    httpx.post(f"{url}/admin/mode", json={"mode": mode}).raise_for_status()


# --- Chat ----------------------------------------------------------------------------------------


def test_whole_chat(client: OpenAI) -> None:
    answer = client.chat.completions.create(model=CHAT_MODEL, messages=MESSAGES)
    assert answer.object == "chat.completion"
    assert answer.model.startswith(CHAT_MODEL)
    assert abs(answer.created - time.time()) < 3600
    assert answer._request_id
    [choice] = answer.choices
    assert (choice.index, choice.finish_reason) == (0, "stop")
    assert choice.message.role == "assistant"
    assert choice.message.content
    usage = answer.usage
    assert usage is not None and usage.prompt_tokens > 0 and usage.completion_tokens > 0
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


def read_stream(client: OpenAI, **options: object) -> list[ChatCompletionChunk]:
    stream = client.chat.completions.create(
        model=CHAT_MODEL, messages=MESSAGES, stream=True, **options
    )
    return list(stream)


def check_content(chunks: list[ChatCompletionChunk], expected: str) -> None:
    """One id and time, the role first, the text in pieces, and the reason for the end last."""
    assert len(chunks) > 3
    assert len({(chunk.id, chunk.created, chunk.model, chunk.object) for chunk in chunks}) == 1
    assert chunks[0].object == "chat.completion.chunk"
    assert all(len(chunk.choices) == 1 for chunk in chunks)
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert [delta.role for delta in deltas] == ["assistant"] + [None] * (len(deltas) - 1)
    assert "".join(delta.content or "" for delta in deltas) == expected
    reasons = [chunk.choices[0].finish_reason for chunk in chunks]
    assert reasons == [None] * (len(reasons) - 1) + ["stop"]


def test_streamed_chat(client: OpenAI) -> None:
    whole = client.chat.completions.create(model=CHAT_MODEL, messages=MESSAGES)
    chunks = read_stream(client)
    check_content(chunks, expected=whole.choices[0].message.content)
    assert not any("usage" in chunk.model_fields_set for chunk in chunks)


def test_streamed_chat_with_usage(client: OpenAI) -> None:
    whole = client.chat.completions.create(model=CHAT_MODEL, messages=MESSAGES)
    *chunks, last = read_stream(client, stream_options={"include_usage": True})
    check_content(chunks, expected=whole.choices[0].message.content)
    assert all(chunk.usage is None and "usage" in chunk.model_fields_set for chunk in chunks)
    assert (last.id, last.created) == (chunks[0].id, chunks[0].created)
    assert last.choices == []
    assert last.usage == whole.usage


def test_streamed_chat_arrives_in_pieces(start_provider: StartProvider) -> None:
    client = client_of(start_provider("--latency", "fixed:1s"))
    start = time.monotonic()
    arrivals = []
    for chunk in client.chat.completions.create(model=CHAT_MODEL, messages=MESSAGES, stream=True):
        if chunk.choices[0].delta.content:
            arrivals.append(time.monotonic() - start)
    assert arrivals[-1] > 0.9, "the whole call takes what was asked for"
    assert arrivals[0] < 0.75 * arrivals[-1], "the first piece does not wait for the last"


@pytest.mark.parametrize(
    "response_format",
    [
        {"type": "json_object"},
        {"type": "json_schema", "json_schema": {"name": "ticket", "schema": {"type": "object"}}},
    ],
    ids=lambda value: value["type"],
)
def test_a_response_format_classifies(client: OpenAI, response_format: dict) -> None:
    answer = client.chat.completions.create(
        model=CHAT_MODEL, messages=MESSAGES, response_format=response_format
    )
    content = json.loads(answer.choices[0].message.content)
    assert content["team"] == "billing"
    assert content["priority"] in (1, 2, 3)


def test_a_plain_answer_is_no_classification(client: OpenAI) -> None:
    answer = client.chat.completions.create(model=CHAT_MODEL, messages=MESSAGES)
    with pytest.raises(json.JSONDecodeError):
        json.loads(answer.choices[0].message.content)


# --- Embeddings ----------------------------------------------------------------------------------


def test_default_embeddings_are_base64_and_equal_the_floats(client: OpenAI) -> None:
    text = "Where is my parcel?"
    default = client.embeddings.create(model=EMBED_MODEL, input=text)
    floats = client.embeddings.create(model=EMBED_MODEL, input=text, encoding_format="float")
    assert default.usage.total_tokens == default.usage.prompt_tokens > 0
    [by_default], [as_floats] = default.data, floats.data
    assert len(by_default.embedding) == 384
    assert math.isclose(math.hypot(*as_floats.embedding), 1, rel_tol=1e-3)
    assert by_default.embedding == pytest.approx(as_floats.embedding, rel=1e-6, abs=1e-9)
    # What the SDK decoded was really base64, and not a list that it passed on.
    raw = client.embeddings.with_raw_response.create(model=EMBED_MODEL, input=text)
    assert isinstance(json.loads(raw.content)["data"][0]["embedding"], str)


def test_dimensions(client: OpenAI) -> None:
    for wanted in (1, 64, 384):
        answer = client.embeddings.create(model=EMBED_MODEL, input="text", dimensions=wanted)
        assert len(answer.data[0].embedding) == wanted


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ("one", 1),
        (["one"], 1),
        (["one", "two", "three"], 3),
        ([101, 102, 103], 1),
        ([[101, 102], [103]], 2),
    ],
    ids=["string", "list of one", "strings", "tokens", "token lists"],
)
def test_embedding_inputs(client: OpenAI, given: object, count: int) -> None:
    answer = client.embeddings.create(model=EMBED_MODEL, input=given)
    assert [item.index for item in answer.data] == list(range(count))
    assert all(len(item.embedding) == 384 for item in answer.data)
    vectors = {tuple(item.embedding) for item in answer.data}
    assert len(vectors) == count, "different texts have different vectors"


# --- Models --------------------------------------------------------------------------------------


def test_models(client: OpenAI) -> None:
    names = [model.id for model in client.models.list()]
    assert {CHAT_MODEL, EMBED_MODEL} <= set(names)
    for name in names:
        model = client.models.retrieve(name)
        assert (model.id, model.object) == (name, "model")


# --- Errors --------------------------------------------------------------------------------------


def test_a_model_that_is_not_listed_is_not_found(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("no-such-model")
    assert caught.value.code == "model_not_found"
    assert "no-such-model" in caught.value.message
    assert caught.value.request_id


def test_calls_may_name_any_model_and_a_listed_one_only_for_its_task(client: OpenAI) -> None:
    answer = client.chat.completions.create(model="somebody-elses-model", messages=MESSAGES)
    assert answer.model == "somebody-elses-model"
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model=EMBED_MODEL, messages=MESSAGES)
    assert caught.value.param == "model"


def test_senseless_requests_are_bad_requests(client: OpenAI) -> None:
    chat, embed = client.chat.completions.create, client.embeddings.create
    calls = {
        "messages": lambda: chat(model=CHAT_MODEL, messages="hello"),
        "temperature": lambda: chat(model=CHAT_MODEL, messages=MESSAGES, temperature=-5),
        "max_tokens": lambda: chat(model=CHAT_MODEL, messages=MESSAGES, max_tokens=-1),
        "dimensions": lambda: embed(model=EMBED_MODEL, input="text", dimensions=0),
        "input": lambda: embed(model=EMBED_MODEL, input=[]),
    }
    for field, call in calls.items():
        with pytest.raises(openai.BadRequestError) as caught:
            call()
        assert caught.value.type == "invalid_request_error", field
        assert field in f"{caught.value.param} {caught.value.message}"


def test_a_used_up_quota_is_a_rate_limit_error(client: OpenAI) -> None:
    def call() -> None:
        client.chat.completions.create(model=CHAT_MODEL, messages=MESSAGES, max_tokens=10)

    call()  # The healthy twin: the normal quota lets a call through.
    set_mode(client, "quota")
    with pytest.raises(openai.RateLimitError) as caught:
        for _ in range(30):  # A tenth of the quota is 10 calls a minute.
            call()
    error = caught.value
    assert error.status_code == 429
    assert error.code == "rate_limit_exceeded"
    headers = error.response.headers
    assert headers["retry-after"] == "30"
    assert 0 < float(headers["retry-after-ms"]) <= 60_000
    assert headers["x-ratelimit-remaining-requests"] == "0"
    for kind in ("requests", "tokens"):
        for part in ("limit", "remaining", "reset"):
            assert headers[f"x-ratelimit-{part}-{kind}"]


def test_a_429_is_retried_when_retry_after_ms_says(start_provider: StartProvider) -> None:
    client = client_of(start_provider(*AT_ONCE, "--mode", "quota"))

    def call(client: OpenAI) -> None:
        client.chat.completions.create(model=CHAT_MODEL, messages=MESSAGES, max_tokens=10)

    with pytest.raises(openai.RateLimitError) as caught:
        for _ in range(30):
            call(client)
    wait_s = float(caught.value.response.headers["retry-after-ms"]) / 1000
    assert wait_s > 2, "the SDK's own first pause is at most half a second"
    start = time.monotonic()
    # One retry: it fails again unless it comes when the quota has room.
    call(client.with_options(max_retries=1))
    assert time.monotonic() - start > 0.8 * wait_s
    url = str(client.base_url).removesuffix("/v1/")
    assert stats(url)["calls"]["draft_reply"]["429"] == 2


def test_an_outage_is_an_internal_server_error(client: OpenAI) -> None:
    set_mode(client, "outage")
    with pytest.raises(openai.InternalServerError) as caught:
        client.embeddings.create(model=EMBED_MODEL, input="text")
    assert caught.value.status_code == 503
    set_mode(client, "normal")
    client.embeddings.create(model=EMBED_MODEL, input="text")


# --- The async client ----------------------------------------------------------------------------


def async_client_of(url: str) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{url}/v1", api_key="sk-not-a-real-key", max_retries=0)


def stats(url: str) -> dict:
    return httpx.get(f"{url}/admin/stats").raise_for_status().json()


def test_ten_async_calls_overlap(start_provider: StartProvider) -> None:
    url = start_provider("--latency", "fixed:500ms")

    async def ten_calls() -> float:
        async with async_client_of(url) as client:
            start = time.monotonic()
            async with asyncio.TaskGroup() as group:
                for number in range(10):
                    group.create_task(
                        client.embeddings.create(model=EMBED_MODEL, input=f"{number}")
                    )
            return time.monotonic() - start

    wall_s = asyncio.run(ten_calls())
    assert stats(url)["max_in_flight"] == 10
    assert 0.5 <= wall_s < 2.5, "ten calls in turn would take 5 s"


def test_a_client_that_leaves_frees_its_place(start_provider: StartProvider) -> None:
    url = start_provider("--latency", "fixed:60s")

    async def leave() -> None:
        async with async_client_of(url) as client:
            call = asyncio.create_task(client.embeddings.create(model=EMBED_MODEL, input="text"))
            await until(lambda: stats(url)["in_flight"] == 1)
            call.cancel()
            await until(lambda: stats(url)["in_flight"] == 0)

    async def until(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not await asyncio.to_thread(condition):
                await asyncio.sleep(0.05)

    asyncio.run(leave())
