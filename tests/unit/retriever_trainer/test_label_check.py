"""Labels that contradict what was graded are asked for no more."""

from __future__ import annotations

from uuid import UUID

import numpy as np
import pytest
import redis

from memshare_broker.wire.lessons import Evidence, UsedMemory
from memshare_broker.wire.messages import Embedding, derived_id
from memshare_llm.doubts import Doubts
from memshare_trainer.percentages import FEWEST, LabelCheck, paused_labels

MODEL = "openai:small"
NOWHERE = Embedding.pack("test", np.zeros(2, dtype=np.float32))


def word(memory: UUID, pair: UUID, helped: float = 1.0) -> Evidence:
    used = UsedMemory(id=memory, embedding=NOWHERE, submitter="bob")
    return Evidence(
        by="ada", source="outcome", text="A riddle", prompt=NOWHERE, pair=pair, memory=used, helped=helped, at=1.0
    )


def check(client: redis.Redis, wrong: int, of: int, *, helped: float = 1.0, model: str = MODEL) -> LabelCheck:
    """Of so many lessons, in each of which the answer followed one candidate, some are labelled wrongly."""
    labels = LabelCheck(client, model)
    for number in range(of):
        memory, pair = derived_id("memory", str(number)), derived_id("pair", str(number))
        others = {derived_id("other", str(number)): 0.9}
        said = {memory: 0.95 if number < wrong else 0.05, **others}
        labels.note(said, pair, [word(memory, pair, helped), word(memory, derived_id("another"), helped)])
    return labels


@pytest.mark.parametrize(("wrong", "of", "paused"), [(8, FEWEST, True), (7, FEWEST, False), (9, FEWEST - 1, False)])
def test_a_model_that_calls_misleading_what_helped_is_asked_for_no_labels_for_a_day(
    wrong: int, of: int, paused: bool, redis_client: redis.Redis
) -> None:
    labels = check(redis_client, wrong, of)

    why = labels.paused()
    assert (why is not None) is paused
    assert paused_labels(redis_client) == ([why] if why else [])
    if why:
        assert f"{MODEL} labelled 8 of 20" in why
        assert Doubts(redis_client, "labels").found(0, 0.0) == []  # after the pause it is a new trial
        assert 86_000 < redis_client.ttl(f"memshare:labels_paused:{MODEL}") <= 86_400
    assert LabelCheck(redis_client, "openai:large").paused() is None


@pytest.mark.parametrize(("wrong", "of", "weight"), [(0, 0, 1.0), (0, 30, 1.0), (5, FEWEST, 0.5), (1, 2, 0.9)])
def test_a_lesson_weighs_what_its_labels_are_better_than_chance(
    wrong: int, of: int, weight: float, redis_client: redis.Redis
) -> None:
    assert check(redis_client, wrong, of).trust() == pytest.approx(weight)


def test_what_a_bad_answer_followed_says_nothing_of_labels(redis_client: redis.Redis) -> None:
    assert check(redis_client, FEWEST, FEWEST, helped=0.0).paused() is None
