from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memshare_concepts.nearly_same import similar_names


def unit(*angles: float) -> NDArray[np.float32]:
    """Vectors of length 1 at some angles, in degrees."""
    turned = np.radians(angles)
    return np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)


def test_near_names_are_merged_and_less_near_ones_proposed() -> None:
    found = similar_names(["Car", "Automobile", "Lorry", "Poem"], unit(0, 10, 30, 90), [3, 9, 1, 1])

    assert [(one.keep, one.other, one.certain) for one in found] == [
        ("Automobile", "Car", True),
        ("Automobile", "Lorry", False),
        ("Car", "Lorry", False),
    ]


def test_names_with_digits_or_single_letters_are_left_apart() -> None:
    assert similar_names(["GPT-3", "GPT-4", "C", "D", "Vitamin C"], unit(0, 1, 2, 3, 4), [1] * 5) == []


def test_of_equal_names_the_first_in_the_alphabet_is_kept() -> None:
    [found] = similar_names(["Zebra Crossing", "Crosswalk"], unit(0, 1), [2, 2])

    assert (found.keep, found.other) == ("Crosswalk", "Zebra Crossing")
