from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memshare_broker.wire.messages import asked, written
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.encoders.open_encoder import open_encoder
from memshare_memory.encoders.shared_batches import LARGEST_SHARED, MOST, SharedBatches, cost, pieces, spread

OWLS = "The barn owl hunts mice over the fields at night, and flies without a sound. "
QUESTION = "What does a bank pay on savings?"
MONEY = "The bank pays interest on savings once a year, and charges for every loan. "


@pytest.fixture(scope="module")
def encoder(exports: Path) -> Encoder:
    return SharedBatches(open_encoder(None, device="cpu", timeout=10, exports=exports))


class Cut:
    """An encoder that notes what it was asked for, and tells the pieces apart."""

    name, dimension = "cut", 2

    def __init__(self, window: int) -> None:
        self.window = window
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return np.array([[1, 0] if "owl" in text else [0, 1] for text in texts], dtype=np.float32).reshape(-1, 2)


def test_a_text_that_fits_is_encoded_as_it_is() -> None:
    cut = Cut(256)

    assert SharedBatches(cut).encode(["An owl.", "A bank."]).tolist() == [[1, 0], [0, 1]]
    assert cut.asked == ["An owl.", "A bank."]
    assert SharedBatches(cut).encode([]).shape == (0, 2)


def test_a_longer_text_is_the_mean_of_its_pieces_and_has_length_one() -> None:
    texts = ["owl " * 37 + "money " * 26, "owl"]

    for count in (1, LARGEST_SHARED):
        [vector, short, *_] = SharedBatches(Cut(50)).encode(texts * count)

        assert vector == pytest.approx([0.707, 0.707], abs=0.05)
        assert short.tolist() == [1, 0]


@pytest.mark.parametrize("text", [OWLS * 40, "夜山寺" * 500, "x" * 5_000, OWLS * 5 + "猫" * 400])
def test_pieces_leave_nothing_out_and_each_fits(text: str) -> None:
    parts = list(pieces(text, 100))

    assert "".join(parts).split() == text.split()
    assert all(cost(part) <= 101 for part in parts)


def test_of_a_very_long_text_pieces_are_taken_from_all_over_it() -> None:
    parts = [str(number) for number in range(100)]

    taken = spread(parts)

    assert len(taken) == MOST
    assert (taken[0], taken[-1]) == ("0", "99")
    assert max(int(b) - int(a) for a, b in pairwise(taken)) <= 7


def test_a_long_memory_is_found_by_what_stands_at_its_end(encoder: Encoder) -> None:
    [long, other, wanted] = encoder.encode([OWLS * 25 + MONEY * 25, OWLS * 25, QUESTION])

    assert long @ wanted > 0.3 > other @ wanted


def test_long_conversations_with_one_opening_have_vectors_of_their_own(encoder: Encoder) -> None:
    opening = [("user", OWLS * 30), ("assistant", "I have read it.")]
    texts = [written([*opening, ("user", last)]) for last in ("Where does it nest?", "Write a tax law about it.")]

    one, other = encoder.encode([asked(text) for text in texts])
    again = encoder.encode(["Where does it nest? I mean the owl."])[0]

    assert one @ other < 0.9
    assert one @ again > other @ again
