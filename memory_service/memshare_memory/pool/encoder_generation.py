"""A generation of the pool: an encoder, and the store of the vectors that it made."""

from __future__ import annotations

import base64
import logging
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import openai
import redis
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError

from memshare_broker.errors import BadInput, GiveUp, TryAgain
from memshare_broker.settings import Settings
from memshare_llm.providers.endpoint import find_endpoint
from memshare_llm.providers.http_client import MAX_REPLY_BYTES, open_client, translate
from memshare_memory.encoders.device import runs_in_torch
from memshare_memory.encoders.encoder import (
    BUNDLED,
    ENCODER,
    Encoder,
    check_encoder_name,
    first_name,
    folder_of,
    origin_of,
)
from memshare_memory.encoders.export_folder import exported
from memshare_memory.encoders.reach import within_reach
from memshare_memory.encoders.shared_batches import SharedBatches
from memshare_memory.pool.pool import Pool
from memshare_memory.pool.restoring import require_whole
from memshare_memory.recall.credibility_ranking import CredibilityRanking
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.retriever import Retriever
from memshare_memory.recall.writers import Writers
from memshare_memory.stores.open_store import layout_in_use, open_store, put_in_use
from memshare_memory.stores.store import Layout

log = logging.getLogger(__name__)


def open_encoder(name: str | None, *, device: str | None = None, timeout: float, exports: Path) -> Encoder:
    """The encoder of a name: `openai:MODEL`, a sentence-transformers model or folder, or the bundled one for none.

    `device` is the torch device of a sentence-transformers model, `timeout` the seconds that one call to a server
    may take, `exports` the folder in which exported models are kept. Raises `BadInput` for what cannot be opened, and
    `TryAgain` if a server does not answer now.
    """
    # What an encoder runs on takes up to seconds to import, so it is imported where it is used.
    check_encoder_name(name)
    provider, _, model = (name or "").partition(":")
    if provider != "openai":
        return open_model(name, device=device, exports=exports)

    return OpenAIEncoder(model, timeout=timeout)


def open_model(path: str | None, *, name: str | None = None, device: str | None, exports: Path) -> Encoder:
    """The encoder of a sentence-transformers folder, a name of the model hub, or the bundled one for none.

    `name` is what stands beside its vectors where that is not `path`. The first to open a model on a processor exports
    it into the folder `exports`, which takes some seconds; torch is imported in a process of its own for that. Raises
    `BadInput` for what cannot be loaded.
    """
    if not runs_in_torch(device):
        export = exported(path, name, exports)
        if export.settings.refused is None:
            from memshare_memory.encoders.onnx_encoder import OnnxEncoder

            return OnnxEncoder(export, name or path or BUNDLED)
        log.warning(
            "The encoder %s runs in torch, which takes longer to start and several hundred MB more: it has no export"
            " for ONNX Runtime, because %s. Remove %s to have that tried again.",
            name or path or BUNDLED,
            export.settings.refused,
            export.folder,
        )
        device = "cpu"
    from memshare_memory.encoders.sentence_encoder import SentenceTransformerEncoder

    return SentenceTransformerEncoder(path, name=name, device=device)


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
    found = sorted(_Embeddings.model_validate_json(body).data, key=lambda one: one.index)
    if [one.index for one in found] != list(range(count)):
        raise ValueError(f"expected {count} vectors, numbered from 0, and found {len(found)}")
    with np.errstate(over="ignore", invalid="ignore"):
        vectors = np.stack([one.numbers() for one in found])
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


EXPORTS = "exports"  # in the folder of the encoders that consolidation writes


def encoder_named(settings: Settings, name: str) -> Encoder:
    """The encoder of the settings or one that goes back to it, ready for many threads.

    Raises `BadInput` for any other: its pool has to be re-encoded first.
    """
    if origin_of(name) != first_name(settings):
        raise BadInput(
            f"The pool has vectors of the encoder {name!r}, and MEMSHARE_ENCODER names {first_name(settings)!r}: they"
            f" cannot be compared. Re-encode the pool with `memshare retriever consolidate`, or set MEMSHARE_ENCODER"
            f" back to {origin_of(name)!r}."
        )
    device, exports = settings.device, settings.exports_dir
    first = partial(open_encoder, settings.encoder, device=device, timeout=settings.model_timeout, exports=exports)
    if name == first_name(settings):
        opened = first()
    else:
        folder = folder_of(settings, name)
        if not folder.is_dir():
            raise BadInput(
                f"The pool's encoder {name!r} is not in {str(settings.encoders_dir)!r}. Give MEMSHARE_ENCODERS the"
                " folder in which the machine that consolidated keeps it, or a copy of that."
            )
        # Beside it, where every machine finds it that has the folder: who consolidates exports it first.
        trained = open_model(str(folder), name=name, device=device, exports=settings.encoders_dir / EXPORTS)
        opened = within_reach(trained, folder, first)
    encoder = SharedBatches(opened)
    encoder.encode(["The first text takes longer than those after it."])
    return encoder


def open_generation(settings: Settings, client: redis.Redis, name: str) -> Recall:
    """The generation of an encoder's name, made if need be; its store is closed when nobody uses it any more."""
    encoder = encoder_named(settings, name)
    layout = Layout(encoder.name, encoder.dimension)
    is_other = layout_in_use(settings) not in (None, layout)
    store = open_store(settings, layout, owner=" ".join(sys.argv), beside=is_other)
    ranking, retriever = CredibilityRanking(client), Retriever(client, encoder, learns=settings.learn)
    recall = Recall(store, encoder, retriever, ranking, settings.submitter_share, Writers(client))
    weakref.finalize(recall, store.close)
    if is_other:
        put_in_use(settings, layout)
    return recall


def name_in_use(settings: Settings, client: redis.Redis) -> str | None:
    """The encoder whose vectors the pool has, or None while there is no pool.

    Redis says which that is; the store does so for a Redis that has lost its data.
    """
    there = layout_in_use(settings)
    return str(client.get(ENCODER) or there.encoder) if there else None


def open_pool(settings: Settings, client: redis.Redis, claim: Callable[[], object] = lambda: None) -> Pool:
    """The pool in the generation that is in use, made if need be.

    `claim` is called when its store is open, and raises where the Redis belongs to another pool.
    """
    require_whole(client)
    there = layout_in_use(settings)
    name = name_in_use(settings, client) or first_name(settings)
    recall = open_generation(settings, client, name)
    claim()
    client.set(ENCODER, name, nx=there is not None)
    return Pool(client, recall, lambda other: open_generation(settings, client, other))
