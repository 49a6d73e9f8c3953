"""What somebody outside can make of what they are shown: one word about each memory of the pool, and no more."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from memshare_broker.wire.grades import GradedTask, VerdictTask
from memshare_broker.wire.messages import OutsidePair, Shown
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.bandit import ALPHA, Arms, GradeOfKind
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.curate.requests import Forget
from memshare_memory.memory import FLOOR, Memory
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Where
from tests.support.graded import as_pair, graded
from tests.support.memories import remembered

FACT = "The museum is closed on Mondays"


@pytest.fixture
def settle(pool: Pool, redis_client: redis.Redis) -> SettleStage:
    return SettleStage(pool, redis_client, Lessons(redis_client, 1))


def stored(recall: Recall, prompt: str | None, answer: str, **fields: Any) -> Memory:
    memory = remembered(prompt, answer=answer, **fields)[0]
    recall.store.put([(memory, recall.vectors([memory])[0])])
    return memory


def p_of(client: redis.Redis, memory: Memory) -> float:
    return CredibilityRanking(client).credibilities(memory.pool, [memory])[0].p


def say(settle: SettleStage, memory: Memory, verdict: float, journey: str, by: str = "mallory") -> None:
    """Feedback by a door."""
    shown = (Shown(id=memory.id, similarity=1),)
    settle.credit(
        VerdictTask(journey=journey, pool="poem", prompt=memory.key, submitter=by, shown=shown, verdict=verdict)
    )


def offered(recall: Recall, shown: Memory, score: float, journey: str, by: str = "mallory") -> GradedTask:
    pair = graded(recall, journey, f"Closed, {journey}!", score=score, journey=journey, shown=[shown.id], submitter=by)
    return as_pair(OutsidePair, pair)


@pytest.mark.parametrize("way", ["feedback", "offers"])
def test_a_thousand_words_of_one_person_sink_a_statement_no_further_than_one(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis, way: str
) -> None:
    for number in range(45):
        Arms(redis_client).add("poem", f"before {number}", [], graded=GradeOfKind("limerick", 60))
    fact = stored(recall, None, FACT, submitter="ada")
    seen = []

    for number in range(1_000):
        if way == "feedback":
            say(settle, fact, 0.0, f"{number}")
        else:
            settle.run(f"{number}", offered(recall, fact, 0, f"{number}"))
        seen.append(p_of(redis_client, fact))

    assert FLOOR < seen[0] < ALPHA
    # Later offers are compared with what is usual by then, to which they belong.
    assert seen == pytest.approx([seen[0]] * 1_000, abs=1e-9 if way == "feedback" else 0.3)
    assert min(seen) > FLOOR
    assert Arms(redis_client).of("poem", [fact.id])[0].credits == 1
    assert recall.nearest("poem", FACT, recall.embed(FACT).unpack(), 3).hits[0].memory == fact


def test_the_last_word_counts_and_goes_when_the_person_is_forgotten(
    recall: Recall, settle: SettleStage, pool: Pool, redis_client: redis.Redis
) -> None:
    fact = stored(recall, None, FACT, submitter="ada")
    say(settle, fact, 1.0, "bob's", by="bob")
    without = p_of(redis_client, fact)

    for number, verdict in enumerate((0.0, 1.0, 0.0)):
        say(settle, fact, verdict, f"{number}")
    sunk = p_of(redis_client, fact)
    say(settle, fact, 1.0, "at last")
    risen = p_of(redis_client, fact)
    Forgetting(pool, redis_client).forget(Forget(submitter="mallory", roll_back=True))

    assert sunk < without < risen
    assert p_of(redis_client, fact) == pytest.approx(without)


def test_what_people_say_of_each_others_statements_adds_up(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    fact = stored(recall, None, FACT, submitter="ada")

    for number in range(9):
        say(settle, fact, 0.0, f"{number}", by=f"person {number}")

    assert p_of(redis_client, fact) < FLOOR


@pytest.mark.parametrize("others", [True, False])
def test_praise_of_ones_own_statement_raises_it_only_where_nobody_else_speaks(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis, *, others: bool
) -> None:
    fact, own = stored(recall, None, FACT, submitter="ada"), stored(recall, None, "Owls sing", submitter="mallory")
    if others:
        say(settle, fact, 1.0, "bob's", by="bob")

    for number in range(20):
        say(settle, own, 1.0, f"{number}")

    assert (p_of(redis_client, own) > ALPHA) != others


def test_an_offer_says_nothing_of_other_pools_and_has_no_parents_there(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    fact, foreign = stored(recall, None, FACT), stored(recall, None, FACT, pool="logic")
    pair = offered(recall, fact, 95, "theirs")
    shown = tuple(Shown(id=one.id, similarity=1) for one in (foreign, fact))

    task = pair.task.model_copy(update={"shown": shown, "answer": FACT})
    settle.run("theirs", pair.model_copy(update={"task": task}))
    say(settle, foreign, 0.0, "feedback")

    arms = Arms(redis_client)
    assert arms.of("poem", [fact.id])[0].credits == 1
    assert [arms.of(pool, [foreign.id])[0].credits for pool in ("poem", "logic")] == [0, 0]
    [made] = recall.store.page(Where(submitter="mallory"), 10).memories
    assert made.parents == (fact.id,)
