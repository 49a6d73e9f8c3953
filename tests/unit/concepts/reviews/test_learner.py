"""A person and a pool behind its real door: what there is to review, and what is gone when memories go."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import redis

from memshare_concepts.reviews import CardStore, ReviewLearner, Ungraded
from memshare_memory.curate.requests import ConflictDecision, Forget
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from tests.support.memories import remembered

NOW = 1.7e9


def about(topic: str, *subjects: str, **fields: object) -> Memory:
    levels = {"-1": subjects, "0": (topic,), "4": ("Science",)}
    return remembered(f"What is {topic}?", pool="plan", concepts=levels, **fields)[0]


SAIL, MAST, GHOST = about("Sail", "Wind"), about("Mast", "Wood"), about("Ghost", status="stale")
PLAIN = remembered("What has no concepts yet?", pool="plan")[0]
STATEMENT = remembered(None, pool="plan", answer="The harbour is closed.", kind="knowledge")[0]


def test_memories_with_a_question_are_reviewed_with_or_without_concepts_and_stale_or_wrong_ones_are_not(
    memory: MemoryClient, redis_client: redis.Redis, tmp_path: Path
) -> None:
    wrong = about("Mast", "Tin", answer="No.")
    memory.restore([SAIL, MAST, GHOST, PLAIN, STATEMENT, wrong])
    memory.decide(ConflictDecision(memories=(MAST.id, wrong.id), contradict=True, right=MAST.id))

    learner = ReviewLearner.of(memory, CardStore(redis_client, "Ada"), "plan", tmp_path)

    assert set(learner.memories) == {SAIL.id, MAST.id, PLAIN.id}
    assert set(learner.clusters) == {SAIL.id, MAST.id}
    assert set(learner.suggested(NOW)) == set(learner.memories)


def test_new_memories_of_a_day_are_no_more_than_wanted_and_two_of_a_cluster_are_on_no_day(
    memory: MemoryClient, redis_client: redis.Redis, tmp_path: Path
) -> None:
    memory.restore([SAIL, MAST, PLAIN])
    learner = ReviewLearner.of(memory, CardStore(redis_client, "Ada"), "plan", tmp_path)
    suggested = learner.suggested(NOW)
    learner.review([PLAIN.id], "easy", NOW)

    today = learner.plan(NOW + 60, suggested, most_new=2, together=False)
    tomorrow = learner.plan(NOW + 86_400, suggested, most_new=3, together=False)

    assert len(today.new) == 1
    assert PLAIN.id not in tomorrow.new
    for one, other in combinations([*tomorrow.due, *tomorrow.new], 2):
        assert learner.clusters.get(one, -1) != learner.clusters.get(other, -2)


def test_what_was_learnt_of_a_memory_goes_with_it_and_all_of_a_person_with_the_person(
    memory: MemoryClient, redis_client: redis.Redis
) -> None:
    memory.restore([SAIL, MAST])
    for person in ("Ada", "Bob"):
        shelf = CardStore(redis_client, person)
        shelf.review("plan", [SAIL.id, MAST.id], "good", NOW)
        shelf.note_answer(Ungraded(pool="plan", memories=(MAST.id, SAIL.id), question="Why?", answer="So."))

    memory.forget(Forget(ids=(SAIL.id,)))
    memory.purge(Forget(submitter="Bob"))

    assert set(CardStore(redis_client, "Ada").cards("plan")) == {MAST.id}
    assert CardStore(redis_client, "Ada").ungraded("plan") == []
    left = [str(key) for key in redis_client.scan_iter("memshare:review:*")]
    assert not [key for key in left if "Bob" in key]
    assert redis_client.smembers("memshare:review:people") == {"Ada"}
