"""Recalls: texts are encoded as whoever asks has a turn, and what is ready together is searched together."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

from memshare_broker.steady_thread import steady_thread
from memshare_broker.wire.messages import Embedding
from memshare_memory.door.messages import Found, RecallRequest, Recollection
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.search_steps import RecallQuery

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_BATCH = 32


class _Step(NamedTuple):
    """A request on its way: first it has no generation of the pool yet, then vectors by it, of the text
    and of the masked text where that is another, of shape (1 or 2, dimension)."""

    request: RecallRequest
    answer: Future[Recollection]
    recall: Recall | None = None
    vectors: Future[NDArray[np.float32]] | None = None


class RecallBatches:
    """Takes requests from any thread, and answers them in a thread of its own, as many at once as are ready."""

    def __init__(self, pool: Callable[[], Recall]) -> None:
        self._pool = pool
        self._steps: SimpleQueue[_Step | None] = SimpleQueue()
        self._encoding = 0
        self._is_closing = False
        self._closed = threading.Event()
        self._thread = steady_thread("memshare-recalls", self._next_steps, self._closed)

    def ask(self, request: RecallRequest) -> Future[Recollection]:
        """Queue a request; the future gives the recalled memories when its turn has come."""
        answer: Future[Recollection] = Future()
        self._steps.put(_Step(request, answer))
        return answer

    def close(self) -> None:
        """Answer what has been asked, and end."""
        self._steps.put(None)
        self._thread.join()

    def _next_steps(self) -> None:
        steps = [self._steps.get()]
        while len(steps) < LARGEST_BATCH and not self._steps.empty():
            steps.append(self._steps.get())
        self._is_closing = self._is_closing or None in steps
        there = [one for one in steps if one is not None]
        self._begin([one for one in there if one.recall is None])
        self._search([one for one in there if one.recall is not None])
        if self._is_closing and not self._encoding:
            self._closed.set()

    def _begin(self, asked: Sequence[_Step]) -> None:
        """Have texts encoded; who wants no memory, or has gone away meanwhile, needs no vector."""
        wanted = [one for one in asked if not one.answer.cancelled()]
        if not wanted:
            return
        try:
            recall = self._pool()
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            _refuse(wanted, error)
            return
        for one in wanted:
            if one.request.k:
                self._encode(one, recall)
            else:
                self._search([one._replace(recall=recall)])

    def _encode(self, asked: _Step, recall: Recall) -> None:
        request = asked.request
        vectors = recall.begin(request.text, request.asked_by or request.submitter or "", masking=True)
        self._encoding += 1
        # Held weakly: in a circle of futures a generation that is out of use would keep its store open.
        waiting = weakref.ref(vectors)
        asked.answer.add_done_callback(lambda _: (left := waiting()) is not None and left.cancel())
        vectors.add_done_callback(lambda made: self._steps.put(asked._replace(recall=recall, vectors=made)))

    def _search(self, encoded: Sequence[_Step]) -> None:
        self._encoding -= sum(one.vectors is not None for one in encoded)
        wanted = [one for one in encoded if one.answer.set_running_or_notify_cancel()]
        for recall in {id(one.recall): one.recall for one in wanted if one.recall is not None}.values():
            _answer(recall, [one for one in wanted if one.recall is recall])


def _answer(recall: Recall, steps: Sequence[_Step]) -> None:
    try:
        recollections = [_nothing(recall, one) for one in steps if one.vectors is None] or _recall_each(recall, steps)
    except Exception as error:  # noqa: BLE001 - whoever asked is told
        if len(steps) > 1:  # it may be about one of them alone
            for one in steps:
                _answer(recall, [one])
            return
        steps[0].answer.set_exception(error)
        return
    for one, recollection in zip(steps, recollections, strict=True):
        one.answer.set_result(recollection)


def _refuse(steps: Sequence[_Step], error: Exception) -> None:
    for one in steps:
        if one.answer.set_running_or_notify_cancel():
            one.answer.set_exception(error)


def _nothing(recall: Recall, step: _Step) -> Recollection:
    """Reply to a request that wants no memory: no text is encoded for it."""
    return Recollection(found=(), embedding=None, retriever_version=recall.retriever_version(step.request.pool))


def _recall_each(recall: Recall, steps: Sequence[_Step]) -> list[Recollection]:
    """Memories recalled for each request, with as few searches as possible."""
    vectors = [one.vectors.result() for one in steps if one.vectors is not None]
    wanted = [
        RecallQuery(
            pool=one.pool,
            text=one.text,
            vector=rows[0],
            k=one.k,
            mode=one.mode,
            among=one.among,
            submitter=one.submitter,
            masked=rows[1] if len(rows) > 1 else None,
            reader=one.reader,
        )
        for (one, *_), rows in zip(steps, vectors, strict=True)
    ]
    return [
        Recollection(
            found=tuple(
                Found(memory=hit.memory, similarity=hit.similarity, proven=hit.proven) for hit in recalled.hits
            ),
            embedding=Embedding.pack(recall.encoder_name, rows[0]),
            retriever_version=recalled.retriever_version,
        )
        for recalled, rows in zip(recall.nearest_each(wanted), vectors, strict=True)
    ]
