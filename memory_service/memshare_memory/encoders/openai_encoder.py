"""Encoders of OpenAI and of every server that speaks its embeddings API (vLLM, Ollama, llama.cpp)."""

from __future__ import annotations

import base64
import weakref
from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np
import openai
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError

from memshare_broker.errors import BadInput, GiveUp, TryAgain
from memshare_llm.providers.endpoint import find_endpoint
from memshare_llm.providers.http_client import MAX_REPLY_BYTES, open_client, translate

# OpenAI takes 8,192 tokens a text and 300,000 a request. No token is shorter than a byte, so these always fit.
LONGEST_TEXT = 8_000
LARGEST_REQUEST = 300_000

LARGEST_BATCH = 256
CONNECTIONS = 4
# The longest that JSON makes of a number, for a server that does not know base64.
NUMBER_BYTES = 26


class OpenAIEncoder:
    """A model behind `OPENAI_API_KEY`, or behind the server at `OPENAI_BASE_URL`.

    Only the first 8,000 bytes of a text are encoded: so many characters of English, a third as many of Chinese.
    `timeout` is for one call in seconds; more than 256 texts take several. Is built with a first call, which tells
    the dimension; raises `BadInput` if the model cannot be used, and `TryAgain` if the server does not answer now.
    """

    def __init__(self, model: str, *, timeout: float) -> None:
        self.name = f"openai:{model}"
        self._model = model
        try:
            key, address = find_endpoint("openai")
            http = open_client(timeout=timeout, connections=CONNECTIONS)
            weakref.finalize(self, http.close)
            # Retries are the queue's: the SDK's own would hold a worker's thread and exceed the timeout.
            self._client = openai.OpenAI(
                api_key=key, base_url=address, timeout=timeout, max_retries=0, http_client=http
            )
            self.dimension = self._ask(["The reply to this text tells how many numbers a vector has."]).shape[1]
        except (BadInput, GiveUp) as error:
            raise BadInput(f"MEMSHARE_ENCODER={self.name!r} cannot be used: {error}") from error

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        start = 0
        for batch in _batches([_sendable(text) for text in texts], self.dimension):
            found = self._ask(batch)
            if found.shape[1] != self.dimension:
                raise GiveUp(
                    f"{self.name} sent vectors of {found.shape[1]} numbers, where it sent {self.dimension} before: "
                    "the server has changed its model. Go back to the old one, or restart the workers."
                )
            vectors[start : start + len(batch)] = found
            start += len(batch)
        return vectors

    def _ask(self, texts: list[str]) -> NDArray[np.float32]:
        try:
            # The raw body, because the SDK does not check what a compatible server sends.
            reply = self._client.embeddings.with_raw_response.create(
                model=self._model, input=texts, encoding_format="base64"
            )
        except openai.APIStatusError as error:
            raise translate(self.name, error, error.response) from None  # it may echo the key
        except openai.APIError as error:
            raise translate(self.name, error) from error
        try:
            return read_vectors(reply.content, len(texts))
        except ValueError as error:
            raise TryAgain(f"{self.name} sent something that is no list of embeddings: {_reason(error)}") from error


class _Embedding(BaseModel):
    index: int
    embedding: str | Annotated[list[float], Field(fail_fast=True)]

    def numbers(self) -> NDArray[np.float64]:
        if isinstance(self.embedding, str):
            return np.frombuffer(base64.b64decode(self.embedding, validate=True), "<f4").astype(np.float64)
        return np.array(self.embedding, dtype=np.float64)


class _Embeddings(BaseModel):
    data: list[_Embedding] = Field(fail_fast=True)


def read_vectors(body: str | bytes, count: int) -> NDArray[np.float32]:
    """The vectors in a reply to `count` texts, in the order of the texts: length 1, shape (count, dimension).

    A vector may be in base64 or written out as numbers. Raises `ValueError` for every other body.
    """
    found = sorted(_Embeddings.model_validate_json(body).data, key=lambda row: row.index)
    if [row.index for row in found] != list(range(count)):
        raise ValueError(f"expected {count} vectors, numbered from 0, and found {len(found)}")
    with np.errstate(over="ignore", invalid="ignore"):
        vectors = np.stack([row.numbers() for row in found])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise ValueError("a vector is empty, all zeros or not finite")
    return np.asarray(vectors / lengths, dtype=np.float32)


def _sendable(text: str) -> str:
    """The part of a text that is sent; a blank text, which the API refuses, as a full stop."""
    start = text.encode(errors="replace")[:LONGEST_TEXT].decode(errors="ignore")
    return start if start.strip() else "."


def _batches(texts: Sequence[str], dimension: int) -> Iterator[list[str]]:
    """The texts in order, in requests that neither they nor their replies make too large."""
    most = max(1, min(LARGEST_BATCH, MAX_REPLY_BYTES // (dimension * NUMBER_BYTES)))
    batch: list[str] = []
    size = 0
    for text in texts:
        length = len(text.encode())
        if batch and (len(batch) == most or size + length > LARGEST_REQUEST):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch


def _reason(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the body'}: {first['msg']}"
