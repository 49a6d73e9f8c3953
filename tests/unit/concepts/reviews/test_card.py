"""When a card is due follows from what was said of it."""

from __future__ import annotations

from datetime import datetime

import pytest

from memshare_concepts.reviews import GRADES, Review, replayed, standing_of
from tests.support.golden_concepts import golden

STEPS = golden()["fsrs_6.3.2"]


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


REVIEWS = [Review(grade=GRADES[step["rating"] - 1], at=seconds(step["at"])) for step in STEPS]


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_each_review_gives_the_published_due_time_and_stability(number: int) -> None:
    standing = standing_of(replayed(REVIEWS[: number + 1]), seconds(STEPS[number]["due"]))

    assert standing.due == seconds(STEPS[number]["due"])
    assert standing.stability == pytest.approx(STEPS[number]["stability"], abs=1e-8)
    assert standing.probability == pytest.approx(STEPS[number]["retrievability_at_due"], abs=1e-9)
