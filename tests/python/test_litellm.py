"""litellm against `waitscope provider`, through its `openai/...` models and `api_base`."""

from __future__ import annotations

import array
import base64
import math

import httpx
import litellm
import pytest
from conftest import StartProvider

CHAT_MODEL = "openai/chat-small"
EMBED_MODEL = "openai/embed-small"
# litellm's own models are not quite what the pinned pydantic would have them be.
pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning:pydantic", "ignore::DeprecationWarning"
)
MESSAGES = [
    {"role": "system", "content": "Draft a reply."},
    {"role": "user", "content": "My card was charged twice for one order."},
]


@pytest.fixture
def to(start_provider: StartProvider) -> dict:
    """Where every call of a test goes. Without retries: a test sees the first answer."""
    return options_of(start_provider("--speed", "0"))


def options_of(url: str) -> dict:
    return {"api_base": f"{url}/v1", "api_key": "sk-not-a-real-key", "max_retries": 0}


def test_whole_chat(to: dict) -> None:
    answer = litellm.completion(model=CHAT_MODEL, messages=MESSAGES, **to)
    [choice] = answer.choices
    assert choice.finish_reason == "stop"
    assert choice.message.role == "assistant"
    assert choice.message.content
    usage = answer.usage
    assert usage.prompt_tokens > 0 and usage.completion_tokens > 0
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


def test_streamed_chat_with_usage(to: dict) -> None:
    whole = litellm.completion(model=CHAT_MODEL, messages=MESSAGES, **to)
    options = {"stream": True, "stream_options": {"include_usage": True}}
    *chunks, last = litellm.completion(model=CHAT_MODEL, messages=MESSAGES, **options, **to)
    pieces = [chunk.choices[0].delta.content for chunk in chunks]
    assert sum(bool(piece) for piece in pieces) > 3
    assert "".join(piece or "" for piece in pieces) == whole.choices[0].message.content
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert last.usage.total_tokens == whole.usage.total_tokens


@pytest.mark.parametrize("encoding", [None, "float", "base64"])
def test_embeddings(to: dict, encoding: str | None) -> None:
    chosen = {"encoding_format": encoding} if encoding else {}
    texts = ["Where is my parcel?", "Please reset my password."]
    answer = litellm.embedding(model=EMBED_MODEL, input=texts, **chosen, **to)
    assert [item["index"] for item in answer.data] == [0, 1]
    plain = litellm.embedding(model=EMBED_MODEL, input=texts, encoding_format="float", **to)
    assert all(isinstance(item["embedding"], str) == (encoding == "base64") for item in answer.data)
    for item, expected in zip(answer.data, plain.data, strict=True):
        assert len(expected["embedding"]) == 384
        assert math.isclose(math.hypot(*expected["embedding"]), 1, rel_tol=1e-3)
        wanted = pytest.approx(expected["embedding"], rel=1e-6, abs=1e-9)
        assert decoded(item["embedding"]) == wanted


def decoded(embedding: str | list[float]) -> list[float]:
    """What was asked for as base64 is handed on as it came."""
    if isinstance(embedding, str):
        return array.array("f", base64.b64decode(embedding)).tolist()
    return embedding


def test_an_outage_is_a_service_error(start_provider: StartProvider) -> None:
    url = start_provider("--mode", "outage")
    with pytest.raises(litellm.ServiceUnavailableError) as caught:
        litellm.completion(model=CHAT_MODEL, messages=MESSAGES, **options_of(url))
    assert caught.value.status_code == 503
    assert httpx.get(f"{url}/admin/stats").json()["calls"] == {"draft_reply": {"503": 1}}


def test_a_429_is_retried_when_retry_after_ms_says(start_provider: StartProvider) -> None:
    url = start_provider("--speed", "0", "--mode", "quota")

    def call(**options: object) -> None:
        to = {**options_of(url), **options}
        litellm.completion(model=CHAT_MODEL, messages=MESSAGES, max_tokens=10, **to)

    with pytest.raises(litellm.RateLimitError):
        for _ in range(30):  # A tenth of the quota is 10 calls a minute.
            call()
    # One retry: it fails again unless it comes when the quota has room, which is seconds away.
    call(max_retries=1)
    calls = httpx.get(f"{url}/admin/stats").json()["calls"]
    assert calls["draft_reply"]["429"] == 2
