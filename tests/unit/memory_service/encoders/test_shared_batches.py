from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from memshare_broker.errors import GiveUp
from memshare_memory.encoders.shared_batches import LARGEST_SHARED, MOST, SharedBatches
from tests.support.word_encoder import WordEncoder

THREADS = 32


class GatedEncoder(WordEncoder):
    """Counts its calls; the first one waits until the gate is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.entered = threading.Event()
        self.calls: list[list[str]] = []
        self.fault: Exception | None = None

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        self.entered.set()
        assert self.gate.wait(30)
        if self.fault is not None and len(self.calls) > 1:
            raise self.fault
        return super().encode(texts)


def ask_together(
    inner: GatedEncoder, shared: SharedBatches, texts: Sequence[Sequence[str]]
) -> list[Future[NDArray[np.float32]]]:
    """One thread asks and is held inside the encoder; the others ask meanwhile; then the gate is opened."""
    with ThreadPoolExecutor(len(texts) + 1) as executor:
        first = executor.submit(shared.encode, ["the first"])
        assert inner.entered.wait(30)
        others = [executor.submit(shared.encode, one) for one in texts]
        deadline = time.monotonic() + 30
        while len(shared._queue) < sum(map(len, texts)):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        inner.gate.set()
        first.result(30)
        return [*others]


def test_threads_that_ask_at_the_same_time_share_a_batch() -> None:
    inner = GatedEncoder()
    texts = [[f"text number{place}"] for place in range(THREADS)]

    results = ask_together(inner, SharedBatches(inner), texts)

    assert [len(call) for call in inner.calls] == [1, THREADS]
    assert sorted(inner.calls[1]) == sorted(text for (text,) in texts)
    for text, result in zip(texts, results, strict=True):
        assert (result.result() == WordEncoder().encode(text)).all()


def test_everyone_gets_the_vectors_of_their_own_texts_in_their_order() -> None:
    inner = GatedEncoder()
    texts = [[f"owner{owner} text{place}" for place in range(owner % 4)] for owner in range(12)]

    results = ask_together(inner, SharedBatches(inner), texts)

    assert len(inner.calls) == 2
    for mine, result in zip(texts, results, strict=True):
        vectors = result.result()
        assert vectors.shape == (len(mine), WordEncoder.dimension)
        assert (vectors == WordEncoder().encode(mine)).all()


def test_an_error_reaches_everyone_in_the_batch_and_nobody_after_it() -> None:
    inner = GatedEncoder()
    inner.fault = RuntimeError("no memory left")
    shared = SharedBatches(inner)

    results = ask_together(inner, shared, [[f"text{place}"] for place in range(THREADS)])

    assert len(inner.calls) == 2
    assert {str(result.exception()) for result in results} == {"no memory left"}

    inner.fault = None
    assert (shared.encode(["later"]) == WordEncoder().encode(["later"])).all()


def test_a_text_that_is_refused_fails_only_who_brought_it() -> None:
    class Strict(GatedEncoder):
        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            vectors = super().encode(texts)
            if any("unheard" in text for text in texts):
                raise GiveUp("a text is refused")
            return vectors

    inner = Strict()
    texts = [["unheard of"] if place == 3 else [f"text{place}"] for place in range(5)]

    results = ask_together(inner, SharedBatches(inner), texts)

    assert [str(result.exception()) for result in results if result.exception()] == ["a text is refused"]
    assert isinstance(results[3].exception(), GiveUp)
    for place in (0, 1, 2, 4):
        assert (results[place].result() == WordEncoder().encode(texts[place])).all()


def test_shared_batches_go_by_the_name_of_their_encoder() -> None:
    shared = SharedBatches(WordEncoder("tests/named"))

    assert (shared.name, shared.dimension) == ("tests/named", WordEncoder.dimension)


def test_nobody_waits_behind_an_import() -> None:
    inner = GatedEncoder()
    shared = SharedBatches(inner)
    texts = [f"text{place}" for place in range(LARGEST_SHARED + 1)]

    with ThreadPoolExecutor(2) as executor:
        held = executor.submit(shared.encode, texts)
        assert inner.entered.wait(30)
        inner.entered.clear()
        alone = executor.submit(shared.encode, ["alone"])
        entered = inner.entered.wait(30)  # although the import is still being encoded
        inner.gate.set()

    assert entered
    assert [len(call) for call in inner.calls] == [LARGEST_SHARED + 1, 1]
    assert (held.result() == WordEncoder().encode(texts)).all()
    assert (alone.result() == WordEncoder().encode(["alone"])).all()


class Pieces(GatedEncoder):
    """Reads 256 tokens of a text."""

    window = 256


LONG = "word " * 4_000  # as long as a text may be that a token sends


def test_short_texts_of_another_overtake_sixteen_long_ones() -> None:
    inner = Pieces()
    shared = SharedBatches(inner)
    held = shared.begin(["held"], "ada")
    assert inner.entered.wait(30)

    long = [shared.begin([LONG], "ada") for _ in range(16)]
    short = [shared.begin([f"short{number}"], "bob") for number in range(10)]
    inner.gate.set()
    for one in (held, *short, *long):
        one.result(30)

    assert {f"short{number}" for number in range(10)} <= {text for call in inner.calls[1:3] for text in call}
    assert len(inner.calls) > 100  # the long ones had many turns after them
    assert sum(len(call) for call in inner.calls) == 1 + 10 + 16 * MOST


def test_the_long_text_of_another_does_not_wait_for_sixteen() -> None:
    inner = Pieces()
    shared = SharedBatches(inner)
    held = shared.begin(["held"], "ada")
    assert inner.entered.wait(30)
    done: list[str] = []

    long = [shared.begin([LONG], "ada") for _ in range(16)]
    other = shared.begin([LONG.upper()], "bob")
    for name, some in (("ada", long), ("bob", [other])):
        for one in some:
            one.add_done_callback(lambda _, name=name: done.append(name))  # type: ignore[misc]
    inner.gate.set()
    for one in (held, other, *long):
        one.result(30)

    assert done.index("bob") <= 1


def test_what_is_cancelled_before_its_turn_is_not_encoded() -> None:
    inner = Pieces()
    shared = SharedBatches(inner)
    held = shared.begin(["held"], "ada")
    assert inner.entered.wait(30)

    gone, there = shared.begin(["gone"], "ada"), shared.begin(["there"], "ada")
    gone.cancel()
    inner.gate.set()

    held.result(30)
    there.result(30)
    assert inner.calls == [["held"], ["there"]]
