"""Recalls: texts are encoded as whoever asks has a turn, and what is ready together is searched together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memshare_broker.observe import tracing
from memshare_broker.steady_thread import steady_thread
from memshare_broker.wire.messages import Embedding
from memshare_memory.door.messages import Found, RecallRequest, Recollection
from memshare_memory.recall.recall import Recall

LARGEST_BATCH = 32

_Vectors = NDArray[np.float32]
"""Of the text, and of the masked text where that is another; none for a request that wants no memory."""


class _Asked(NamedTuple):
    request: RecallRequest
    answer: Future[Recollection]
    there: Callable[[], AbstractContextManager[None]]
    """Goes on with the trace of who asks."""


class _Encoding(NamedTuple):
    """A request whose texts are encoded, by the generation of the pool that answers it."""

    recall: Recall
    request: RecallRequest
    answer: Future[Recollection]


class RecallBatches:
    """Takes requests from any thread, and answers them in a thread of its own, as many at once as are ready."""

    def __init__(self, pool: Callable[[], Recall]) -> None:
        self._pool = pool
        self._came: SimpleQueue[_Asked | Future[_Vectors] | None] = SimpleQueue()
        self._encoding: dict[Future[_Vectors], _Encoding] = {}
        self._is_closing = False
        self._closed = threading.Event()
        self._thread = steady_thread("memshare-recalls", self._next_batch, self._closed)

    def ask(self, request: RecallRequest) -> Future[Recollection]:
        """Queue a request; the future gives the recalled memories when its turn has come."""
        answer: Future[Recollection] = Future()
        self._came.put(_Asked(request, answer, tracing.here()))
        return answer

    def close(self) -> None:
        """Answer what has been asked, and end."""
        self._came.put(None)
        self._thread.join()

    def _next_batch(self) -> None:
        came = [self._came.get()]
        while len(came) < LARGEST_BATCH and not self._came.empty():
            came.append(self._came.get())
        self._is_closing = self._is_closing or None in came
        self._encode([one for one in came if isinstance(one, _Asked)])
        self._search([one for one in came if isinstance(one, Future)])
        if self._is_closing and not self._encoding:
            self._closed.set()

    def _encode(self, asked: Sequence[_Asked]) -> None:
        """Have texts encoded; who wants no memory, or has gone away meanwhile, needs no vector."""
        asked = [one for one in asked if not one.answer.cancelled()]
        if not asked:
            return
        try:
            recall = self._pool()
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            for one in asked:
                if one.answer.set_running_or_notify_cancel():
                    one.answer.set_exception(error)
            return
        for request, answer, there in asked:
            with there():
                self._begin(_Encoding(recall, request, answer))

    def _begin(self, one: _Encoding) -> None:
        request = one.request
        asked_by = request.asked_by or request.submitter or ""
        vectors = one.recall.begin(request.text if request.k else None, asked_by, masking=True)
        self._encoding[vectors] = one
        # Neither future leads to the generation: a circle would keep its store open when it is out of use.
        one.answer.add_done_callback(lambda _: vectors.cancel())
        vectors.add_done_callback(self._came.put)

    def _search(self, ready: Sequence[Future[_Vectors]]) -> None:
        encoded = [(vectors, self._encoding.pop(vectors)) for vectors in ready]
        wanted = [(vectors, one) for vectors, one in encoded if one.answer.set_running_or_notify_cancel()]
        for recall in dict.fromkeys(one.recall for _, one in wanted):
            _answer(recall, [(vectors, one) for vectors, one in wanted if one.recall is recall])


def _answer(recall: Recall, wanted: Sequence[tuple[Future[_Vectors], _Encoding]]) -> None:
    try:
        recollections = _recollections(recall, [(one.request, vectors.result()) for vectors, one in wanted])
    except Exception as error:  # noqa: BLE001 - whoever asked is told
        if len(wanted) == 1:
            wanted[0][1].answer.set_exception(error)
            return
        for one in wanted:  # it may be about one of them alone
            _answer(recall, [one])
        return
    for (_, encoded), recollection in zip(wanted, recollections, strict=True):
        encoded.answer.set_result(recollection)


def _recollections(recall: Recall, asked: Sequence[tuple[RecallRequest, _Vectors]]) -> list[Recollection]:
    """Memories recalled for each request, with as few searches as possible."""
    return [
        Recollection(
            found=tuple(Found(memory=hit.memory, similarity=hit.similarity, proven=hit.proven) for hit in one.hits),
            embedding=Embedding.pack(recall.encoder_name, vectors[0]) if len(vectors) else None,
            retriever_version=one.retriever_version,
        )
        for one, (_, vectors) in zip(recall.nearest_each(asked), asked, strict=True)
    ]
