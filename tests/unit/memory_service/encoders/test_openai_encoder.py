"""The real SDK against a server on loopback, over a real connection."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memshare_broker.errors import BadInput, GiveUp, TryAgain
from memshare_memory.encoders.open_encoder import open_encoder
from memshare_memory.encoders.openai_encoder import LARGEST_BATCH, LONGEST_TEXT, OpenAIEncoder
from tests.support.deployment import patient
from tests.support.embedding_server import (
    DIMENSION,
    KEY,
    EmbeddingServer,
    Script,
    Sent,
    embeddings,
    listed,
    numbers,
    refused,
    serving,
)

TEXTS = ["a lamp by the sea", "x", "以秋夜江边为题"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield server


@pytest.fixture
def encoder(server: EmbeddingServer) -> OpenAIEncoder:
    encoder = OpenAIEncoder("small", timeout=10)
    server.requests.clear()
    return encoder


def expected(texts: list[str]) -> NDArray[np.float64]:
    vectors = np.array([numbers(text) for text in texts])
    normalised: NDArray[np.float64] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return normalised


def changed(**change: Any) -> Script:
    """A server whose first embedding differs from what is right."""

    def script(request: dict[str, Any]) -> Sent:
        first, *others = embeddings(request)
        return listed([{**first, **change}, *others])

    return script


def test_a_first_call_tells_the_dimension(server: EmbeddingServer, tmp_path: Path) -> None:
    server.script = lambda request: listed(embeddings(request, dimension=24))

    encoder = open_encoder("openai:small", timeout=10, exports=tmp_path)

    assert isinstance(encoder, OpenAIEncoder)
    assert (encoder.name, encoder.dimension) == ("openai:small", 24)
    assert [(request["model"], len(request["input"])) for request in server.requests] == [("small", 1)]


def test_every_text_has_its_vector_of_length_one(encoder: OpenAIEncoder) -> None:
    vectors = encoder.encode(TEXTS)

    assert vectors.shape == (3, DIMENSION)
    assert vectors.dtype == np.float32
    assert vectors == pytest.approx(expected(TEXTS), abs=1e-6)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-6)


def test_vectors_that_come_in_another_order_are_put_in_that_of_the_texts(
    server: EmbeddingServer, encoder: OpenAIEncoder
) -> None:
    server.script = lambda request: listed(embeddings(request)[::-1])

    assert encoder.encode(TEXTS) == pytest.approx(expected(TEXTS), abs=1e-6)


def test_a_server_that_does_not_know_base64_may_write_the_numbers_out(
    server: EmbeddingServer, encoder: OpenAIEncoder
) -> None:
    server.script = lambda request: listed(embeddings({**request, "encoding_format": "float"}))

    assert encoder.encode(TEXTS) == pytest.approx(expected(TEXTS), abs=1e-6)
    assert server.requests[0]["encoding_format"] == "base64"


def test_many_texts_go_in_several_requests_and_keep_their_order(
    server: EmbeddingServer, encoder: OpenAIEncoder
) -> None:
    texts = [f"text number {place}" for place in range(2 * LARGEST_BATCH + 1)]

    vectors = encoder.encode(texts)

    assert [len(request["input"]) for request in server.requests] == [LARGEST_BATCH, LARGEST_BATCH, 1]
    assert vectors == pytest.approx(expected(texts), abs=1e-6)


def test_long_texts_go_in_requests_that_the_server_takes(server: EmbeddingServer, encoder: OpenAIEncoder) -> None:
    texts = [f"{place} " + "sea " * 1_500 for place in range(100)]

    vectors = encoder.encode(texts)

    assert vectors == pytest.approx(expected(texts), abs=1e-6)
    assert len(server.requests) == 3


def test_more_numbers_a_vector_make_smaller_requests(server: EmbeddingServer) -> None:
    server.script = lambda request: listed(embeddings(request, dimension=3_072))
    encoder = OpenAIEncoder("large", timeout=10)
    server.requests.clear()

    # Written out, so many numbers would be more than a reply may have.
    server.script = lambda request: listed(embeddings({**request, "encoding_format": "float"}, dimension=3_072))
    vectors = encoder.encode(["word"] * 200)

    assert vectors.shape == (200, 3_072)
    assert [len(request["input"]) for request in server.requests] == [100, 100]


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("", "."),
        (" \n", "."),
        ("  a lamp ", "  a lamp "),
        ("word " * 4_000, "word " * (LONGEST_TEXT // 5)),
        ("江" * 4_000, "江" * (LONGEST_TEXT // 3)),
        ("half a pair: \ud83d", "half a pair: ?"),
    ],
)
def test_every_text_can_be_sent(server: EmbeddingServer, encoder: OpenAIEncoder, text: str, sent: str) -> None:
    vectors = encoder.encode(["before", text, "after"])

    assert [request["input"] for request in server.requests] == [["before", sent, "after"]]
    assert vectors == pytest.approx(expected(["before", sent, "after"]), abs=1e-6)


def test_without_texts_nobody_is_asked(server: EmbeddingServer, encoder: OpenAIEncoder) -> None:
    assert encoder.encode([]).shape == (0, DIMENSION)
    assert server.requests == []


def test_a_wrong_key_is_seen_when_the_encoder_is_built(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "another")

    with pytest.raises(BadInput) as caught:
        OpenAIEncoder("small", timeout=10)

    assert str(caught.value) == (
        "MEMSHARE_ENCODER='openai:small' cannot be used: openai:small answered 401: Incorrect API key provided."
    )
    assert len(server.requests) == 1


def test_without_a_key_no_encoder_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    with pytest.raises(BadInput, match=r"^MEMSHARE_ENCODER='openai:small' cannot be used: OPENAI_API_KEY is not set"):
        OpenAIEncoder("small", timeout=10)


def test_a_server_that_is_not_there_may_be_there_later(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as gone:
        monkeypatch.setenv("OPENAI_BASE_URL", gone.url)
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    with pytest.raises(TryAgain, match=r"^openai:small could not be reached"):
        OpenAIEncoder("small", timeout=10)


def test_a_rate_limit_is_tried_again_after_the_wait_that_was_asked_for(
    server: EmbeddingServer, encoder: OpenAIEncoder
) -> None:
    server.script = lambda _: refused(429, "Rate limit reached.", retry_after="7")

    with pytest.raises(TryAgain, match=r"^openai:small answered 429: Rate limit reached\.") as caught:
        encoder.encode(TEXTS)

    assert caught.value.wait == 7
    assert len(server.requests) == 1


def test_a_refused_text_is_given_up(server: EmbeddingServer, encoder: OpenAIEncoder) -> None:
    server.script = lambda _: refused(400, "This text is too long for the model.")

    with pytest.raises(GiveUp, match=r"^openai:small answered 400: This text is too long for the model\."):
        encoder.encode(TEXTS)


def test_a_reply_that_takes_too_long_is_tried_again(server: EmbeddingServer) -> None:
    encoder = OpenAIEncoder("small", timeout=0.5)
    server.script = lambda request: Sent(listed(embeddings(request)).body, delay=30)
    began = time.monotonic()

    with pytest.raises(TryAgain, match=r"^openai:small did not reply in time; MEMSHARE_MODEL_TIMEOUT gives it more\.$"):
        encoder.encode(TEXTS)

    assert time.monotonic() - began < patient(10)


def test_vectors_of_another_dimension_than_before_are_refused(server: EmbeddingServer, encoder: OpenAIEncoder) -> None:
    server.script = lambda request: listed(embeddings(request, dimension=24))

    with pytest.raises(GiveUp, match=r"^openai:small sent vectors of 24 numbers, where it sent 16 before"):
        encoder.encode(TEXTS)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (lambda request: listed(embeddings(request)[:-1]), "expected 3 vectors, numbered from 0, and found 2"),
        (lambda request: listed(embeddings(request) * 2), "expected 3 vectors, numbered from 0, and found 6"),
        (changed(index=2), "expected 3 vectors, numbered from 0, and found 3"),
        (changed(embedding=numbers("a", 8)), "same shape"),
        (changed(embedding=[0.0] * DIMENSION), "a vector is empty, all zeros or not finite"),
        (changed(embedding=[float("nan")] * DIMENSION), "a vector is empty, all zeros or not finite"),
        (changed(embedding=[float("inf")] * DIMENSION), "a vector is empty, all zeros or not finite"),
        (changed(embedding=[1e300] * DIMENSION), "a vector is empty, all zeros or not finite"),
        (changed(embedding="no base64!"), "base64"),
        (changed(embedding="AAAA"), "buffer size must be a multiple"),
        (lambda _: listed([]), "expected 3 vectors, numbered from 0, and found 0"),
        (lambda _: Sent({"data": "none"}), "data: Input should be a valid array"),
        (lambda _: Sent("<html>"), "the body: "),
    ],
)
def test_a_reply_that_is_no_list_of_embeddings_is_tried_again(
    server: EmbeddingServer, encoder: OpenAIEncoder, script: Script, reason: str
) -> None:
    server.script = script

    with pytest.raises(TryAgain, match=r"^openai:small sent something that is no list of embeddings: ") as caught:
        encoder.encode(TEXTS)

    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_vectors_without_numbers_are_no_dimension(server: EmbeddingServer) -> None:
    server.script = changed(embedding=[])

    with pytest.raises(TryAgain, match="a vector is empty, all zeros or not finite"):
        OpenAIEncoder("small", timeout=10)
