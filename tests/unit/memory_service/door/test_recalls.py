"""Recalls that come together are answered together, and none suffers for another."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Sequence

import numpy as np
import pytest
import redis
from numpy.typing import NDArray

from memshare_broker.errors import GiveUp
from memshare_memory.door.messages import RecallRequest
from memshare_memory.door.service import RecallBatches
from memshare_memory.encoders.shared_batches import MOST
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.retriever import Retriever
from memshare_memory.stores.store import Query, Store
from tests.support.memories import remembered
from tests.support.word_encoder import WordEncoder


class Held(WordEncoder):
    """An encoder that waits until it may go on, notes its batches, and refuses one text."""

    window = 256

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = threading.Event()
        self.has_begun = threading.Event()
        self.batches: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.batches.append(list(texts))
        self.has_begun.set()
        assert self.may_go_on.wait(10)
        if "refused" in texts:
            raise GiveUp("The text is refused.")
        return super().encode(texts)


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def searches() -> list[int]:
    """How many searches the store was asked for at a time."""
    return []


@pytest.fixture
def may_search() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


@pytest.fixture
def held_recall(
    held: Held, store: Store, redis_client: redis.Redis, searches: list[int], may_search: threading.Event
) -> Recall:
    recall = Recall(store, held, Retriever(redis_client, held))
    memories = [remembered(f"lamp {chr(97 + number)}", pool="poem")[0] for number in range(5)]
    held.may_go_on.set()
    store.put(list(zip(memories, recall.vectors(memories), strict=True)))
    held.may_go_on.clear()
    held.has_begun.clear()
    held.batches.clear()
    plainly = store.search

    def noted(queries: Sequence[Query]) -> list[list[object]]:
        searches.append(len(queries))
        assert may_search.wait(10)
        return plainly(queries)  # type: ignore[return-value]

    store.search = noted  # type: ignore[method-assign,assignment]
    return recall


def waiting(recall: Recall, texts: int) -> None:
    """Return when so many texts wait for their turn."""
    deadline = time.monotonic() + 10
    while len(recall._encoder._queue) < texts:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def wanted(text: str) -> RecallRequest:
    return RecallRequest(pool="poem", text=text, k=1)


def test_what_comes_while_one_is_answered_is_answered_together(
    held: Held, held_recall: Recall, searches: list[int]
) -> None:
    recalls = RecallBatches(lambda: held_recall)
    first = recalls.ask(wanted("lamp a"))
    assert held.has_begun.wait(10)

    others = [recalls.ask(wanted(f"lamp {chr(97 + number)}")) for number in range(1, 5)]
    waiting(held_recall, 4)
    held.may_go_on.set()

    assert first.result(10).found[0].memory.prompt == "lamp a"
    assert [one.result(10).found[0].memory.prompt for one in others] == [
        f"lamp {chr(97 + number)}" for number in range(1, 5)
    ]
    assert held.batches == [["lamp a"], ["lamp b", "lamp c", "lamp d", "lamp e"]]
    assert sum(searches) == 5
    recalls.close()


def test_what_is_encoded_while_one_is_searched_is_searched_together(
    held: Held, held_recall: Recall, searches: list[int], may_search: threading.Event
) -> None:
    recalls = RecallBatches(lambda: held_recall)
    held.may_go_on.set()
    may_search.clear()
    answers = [recalls.ask(wanted("lamp a"))]
    while not searches:
        assert not answers[0].done()

    answers += [recalls.ask(wanted(f"lamp {chr(97 + number)}")) for number in range(1, 5)]
    may_search.set()

    for answer in answers:
        answer.result(10)
    assert searches[0] == 1
    assert sum(searches) == 5
    recalls.close()


def test_one_who_asks_for_sixteen_long_texts_does_not_hold_up_the_others(held: Held, held_recall: Recall) -> None:
    recalls = RecallBatches(lambda: held_recall)
    long = [recalls.ask(RecallRequest(pool="poem", text="lamp a " * 3_000, k=1, asked_by="ada")) for _ in range(16)]
    assert held.has_begun.wait(10)
    waiting(held_recall, 16 * MOST - 2)

    short = [
        recalls.ask(RecallRequest(pool="poem", text=f"lamp {chr(97 + number)}", k=1, asked_by="bob"))
        for number in range(5)
    ]
    waiting(held_recall, 16 * MOST - 2 + 5)
    done: list[bool] = []
    for one in long:
        one.add_done_callback(lambda _: done.append(all(some.done() for some in short)))
    held.may_go_on.set()

    assert [one.result(30).found[0].memory.prompt for one in short] == [
        f"lamp {chr(97 + number)}" for number in range(5)
    ]
    for one in long:
        one.result(30)
    assert {f"lamp {chr(97 + number)}" for number in range(5)} <= {text for call in held.batches[1:3] for text in call}
    recalls.close()


def test_who_wants_no_memory_has_nothing_encoded(held: Held, held_recall: Recall) -> None:
    recalls = RecallBatches(lambda: held_recall)

    nothing = recalls.ask(RecallRequest(pool="poem", text="lamp a", k=0)).result(10)

    assert (nothing.found, nothing.embedding, nothing.retriever_version) == ((), None, 0)
    assert held.batches == []
    recalls.close()


def test_one_that_is_refused_does_not_take_the_others_with_it(held: Held, held_recall: Recall) -> None:
    recalls = RecallBatches(lambda: held_recall)
    first = recalls.ask(wanted("lamp a"))
    assert held.has_begun.wait(10)

    good, bad = recalls.ask(wanted("lamp b")), recalls.ask(wanted("refused"))
    waiting(held_recall, 2)
    held.may_go_on.set()

    first.result(10)
    assert good.result(10).found[0].memory.prompt == "lamp b"
    with pytest.raises(GiveUp, match="refused"):
        bad.result(10)
    recalls.close()


def test_a_generation_that_is_out_of_use_goes_when_all_have_their_answers(
    held: Held, store: Store, redis_client: redis.Redis
) -> None:
    held.may_go_on.set()
    generation = [Recall(store, held, Retriever(redis_client, held))]
    gone = threading.Event()
    weakref.finalize(generation[0], gone.set)
    recalls = RecallBatches(lambda: generation[0])
    gc.disable()  # its store must be closed at once, and not when Python next looks for circles
    try:
        for number in range(5):
            recalls.ask(wanted(f"lamp {chr(97 + number)}")).result(10)

        generation.clear()

        assert gone.wait(10)
    finally:
        gc.enable()
    recalls.close()


def test_who_has_gone_away_is_not_answered(held: Held, held_recall: Recall) -> None:
    recalls = RecallBatches(lambda: held_recall)
    first = recalls.ask(wanted("lamp a"))
    assert held.has_begun.wait(10)

    gone, there = recalls.ask(wanted("lamp b")), recalls.ask(wanted("lamp c"))
    waiting(held_recall, 2)
    gone.cancel()
    held.may_go_on.set()

    first.result(10)
    there.result(10)
    assert held.batches[-1] == ["lamp c"]
    recalls.close()
