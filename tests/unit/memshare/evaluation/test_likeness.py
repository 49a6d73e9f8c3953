from __future__ import annotations

import pytest

from memshare.evaluation.judging import f1_scores
from memshare_memory.encoders.encoder import bundled_folder


def test_an_answer_is_compared_with_its_own_reference_whatever_stands_beside_it() -> None:
    old, train = "There was an old man with a beard.", "The train to the coast leaves at noon, and it is late again."

    together = f1_scores([train, old, "Soon.", "", old], [old, old, train, old, train], bundled_folder(), "cpu")

    alone = [
        f1_scores([train], [old], bundled_folder(), "cpu")[0],
        f1_scores(["Soon."], [train], bundled_folder(), "cpu")[0],
    ]
    assert [together[0], together[2]] == pytest.approx(alone, abs=1e-4)
    assert (together[1], together[3]) == (pytest.approx(1, abs=1e-4), 0)
    assert together[4] == pytest.approx(together[0], abs=1e-4)


def test_nothing_to_compare_is_no_error() -> None:
    assert f1_scores(["", " "], ["a", "b"], bundled_folder(), "cpu") == [0, 0]


def test_a_language_that_the_model_does_not_know_has_no_score() -> None:
    poem = "西陸蟬聲唱，南冠客思侵。那堪玄鬢影，來對白頭吟。"

    assert f1_scores([poem, "a river"], [poem, "a river"], bundled_folder(), "cpu") == [
        None,
        pytest.approx(1, abs=1e-4),
    ]
