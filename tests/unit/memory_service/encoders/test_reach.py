from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memshare_memory.encoders.encoder import UNLIMITED, Encoder
from memshare_memory.encoders.open_encoder import Reach, WithinReach, within_reach

NEAR = Reach(np.array([1, 0], dtype=np.float32), -0.9)


class Table:
    """An encoder with a vector for each text that it knows; it notes what it was asked for."""

    dimension = 2

    def __init__(self, name: str, **vectors: tuple[float, float]) -> None:
        self.name = name
        self.asked: list[str] = []
        self._vectors = vectors

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return np.array([self._vectors[text] for text in texts], dtype=np.float32).reshape(-1, 2)


class BoundedTable(Table):
    window = 128


def test_a_text_out_of_reach_has_the_vector_of_the_first_encoder(tmp_path: Path) -> None:
    NEAR.write(tmp_path)
    trained = Table("trained", owl=(0, 1), emu=(0, -1))
    first = Table("first", owl=(1, 0), fox=(0.8, 0.6), emu=(0.96, 0.28))

    encoder = within_reach(trained, tmp_path, lambda: first)

    expected = [(0, 1), (0.8, 0.6), (0, -1)]
    assert np.array_equal(encoder.encode(["owl", "fox", "emu"]), np.array(expected, dtype=np.float32))
    assert trained.asked == ["owl", "emu"]
    assert (encoder.name, encoder.dimension) == ("trained", 2)


def test_the_first_encoder_is_opened_with_the_first_text_and_once(tmp_path: Path) -> None:
    NEAR.write(tmp_path)
    opened: list[Encoder] = []

    def first() -> Encoder:
        opened.append(Table("first", fox=(0, -1)))
        return opened[-1]

    encoder = within_reach(Table("trained", owl=(1, 0)), tmp_path, first)

    assert not opened
    assert encoder.encode([]).shape == (0, 2)
    encoder.encode(["fox"])
    encoder.encode(["fox"])
    assert len(opened) == 1


def test_it_reads_as_much_of_a_text_as_the_trained_one(tmp_path: Path) -> None:
    NEAR.write(tmp_path)

    bounded, whole = (within_reach(one, tmp_path, lambda: Table("first")) for one in (BoundedTable("b"), Table("w")))

    assert isinstance(bounded, WithinReach)
    assert bounded.window == BoundedTable.window
    assert isinstance(whole, WithinReach)
    assert whole.window == UNLIMITED


def test_an_encoder_that_was_trained_before_there_were_reaches_is_for_all_texts(tmp_path: Path) -> None:
    trained = Table("trained", fox=(0, 1))

    assert within_reach(trained, tmp_path, lambda: Table("first")) is trained
