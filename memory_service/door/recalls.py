"""Recalls that come together are encoded together and searched together; one alone waits for nobody."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from queue import SimpleQueue

from memshare.broker.wire.messages import Embedding
from memshare.memory_service.door.days import on_days
from memshare.memory_service.door.messages import Found, RecallRequest, Recollection
from memshare.memory_service.recall.recall import Recall
from memshare.memory_service.recall.search_steps import Wanted
from memshare.memory_service.stores.store import Where

log = logging.getLogger(__name__)

LARGEST_BATCH = 32


class Recalls:
    """Takes requests from any thread, and answers them in a thread of its own, as many at once as have come."""

    def __init__(self, pool: Callable[[], Recall]) -> None:
        self._pool = pool
        self._asked: SimpleQueue[tuple[RecallRequest, Future[Recollection]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="memshare-recalls", daemon=True)
        self._thread.start()

    def ask(self, request: RecallRequest) -> Future[Recollection]:
        """What is recalled for a request, when its turn has come."""
        answer: Future[Recollection] = Future()
        self._asked.put((request, answer))
        return answer

    def close(self) -> None:
        """Answer what has been asked, and end."""
        self._asked.put(None)
        self._thread.join()

    def _run(self) -> None:
        while first := self._asked.get():
            batch = [first]
            while len(batch) < LARGEST_BATCH and not self._asked.empty():
                if (one := self._asked.get()) is None:
                    self._asked.put(None)
                    break
                batch.append(one)
            # Who has gone away meanwhile is not answered.
            wanted = [(request, answer) for request, answer in batch if answer.set_running_or_notify_cancel()]
            self._answer(wanted)

    def _answer(self, batch: Sequence[tuple[RecallRequest, Future[Recollection]]]) -> None:
        try:
            recollections = recall_each(self._pool(), [request for request, _ in batch])
        except Exception as error:  # noqa: BLE001 - whoever asked is told
            if len(batch) > 1:  # it may be about one of them alone
                for one in batch:
                    self._answer([one])
                return
            for _, answer in batch:
                answer.set_exception(error)
            return
        for (_, answer), recollection in zip(batch, recollections, strict=True):
            answer.set_result(recollection)


def recall_each(recall: Recall, requests: Sequence[RecallRequest]) -> list[Recollection]:
    """What is recalled for each request, from one encoding and as few searches as there can be."""
    vectors = recall.encode([request.text for request in requests])
    wanted = [
        Wanted(
            one.pool, one.text, vector, one.k, one.mode, _among(one), one.model, one.kind, one.submitter, one.feedback
        )
        for one, vector in zip(requests, vectors, strict=True)
    ]
    return [
        Recollection(
            found=tuple(Found(memory=hit.memory, similarity=hit.similarity, moved=hit.moved) for hit in recalled.hits),
            embedding=Embedding.pack(recall.encoder_name, vector),
            retriever_version=recalled.retriever_version,
        )
        for recalled, vector in zip(recall.nearest_each(wanted), vectors, strict=True)
    ]


def _among(request: RecallRequest) -> Where:
    """Which memories are meant: those of `among`, on the days, with the words, and without those left out."""
    among = on_days(request.among, request.since, request.until)
    return replace(among, words=(*among.words, *request.words), ids_not=(*among.ids_not, *request.not_shown))
