from __future__ import annotations

import pytest
import redis

from memshare_broker.wire.grades import Settlement
from memshare_scorer.grading import FEWEST, cannot_grade, note_grade
from memshare_scorer.rubric import find_rubric
from memshare_scorer.tasks import ScoreStage
from tests.support.answered import a_task
from tests.support.scripted_chat import ScriptedChat

MODEL = "openai:small"


def note(client: redis.Redis, sure_ones: int, unsure_ones: int) -> None:
    for is_unsure in [False] * sure_ones + [True] * unsure_ones:
        note_grade(client, MODEL, "plan", unsure=is_unsure)


@pytest.mark.parametrize(("sure_ones", "unsure_ones", "said"), [(6, 3, True), (7, 3, False), (0, FEWEST - 1, False)])
def test_a_model_that_is_unsure_of_a_third_of_its_grades_cannot_grade_by_that_rubric(
    sure_ones: int, unsure_ones: int, said: bool, redis_client: redis.Redis
) -> None:
    note(redis_client, sure_ones, unsure_ones)

    found = cannot_grade(redis_client)
    assert bool(found) is said
    if said:
        ((rubric, why),) = found
        assert rubric == "plan"
        assert MODEL in why
        assert "3 of its last 9 grades" in why
        assert "MEMSHARE_MODEL_SCORER" in why


def test_what_was_long_ago_counts_ever_less(redis_client: redis.Redis) -> None:
    note(redis_client, 0, 100)

    note(redis_client, 160, 0)

    assert cannot_grade(redis_client) == []


def test_a_pair_that_the_model_is_unsure_of_ends_without_a_grade_and_is_counted() -> None:
    criteria = find_rubric("plan", None).for_kind("travel")
    wide = {one.name: {"low": 0, "high": one.points} for one in criteria}
    noted: list[tuple[str, str, bool]] = []
    stage = ScoreStage(ScriptedChat(wide, wide), None, 1, lambda _: None, note_unsure=lambda *told: noted.append(told))

    outcome = stage.run("journey", a_task("plan"))

    assert isinstance(outcome.record, Settlement)
    assert outcome.record.outcome == "not graded"
    assert "0 to 100 of 100 points" in outcome.record.reason
    assert outcome.following is None
    assert noted == [("scripted", "plan", True)]
