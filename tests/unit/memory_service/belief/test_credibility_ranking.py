from __future__ import annotations

import json
from typing import Any

import pytest
import redis

from memshare_broker.presence import INVENTED
from memshare_memory.belief.bandit import Bandit, Credit, features
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.memory import KNOWLEDGE, Memory, Verdict
from memshare_memory.recall.query import RecallRequest
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.retriever import Adapter, Retriever
from memshare_memory.stores.store import Where
from tests.support.memories import prompts, remembered
from tests.support.word_encoder import WordEncoder


@pytest.fixture
def standing(redis_client: redis.Redis) -> CredibilityRanking:
    return CredibilityRanking(redis_client)


@pytest.fixture
def judging(recall: Recall, encoder: WordEncoder, redis_client: redis.Redis, standing: CredibilityRanking) -> Recall:
    """A recall that looks at credibility."""
    return Recall(recall.store, encoder, Retriever(redis_client, encoder), standing)


def remember(recall: Recall, prompt: str, answer: str = "Yes.", **fields: object) -> Memory:
    memory = remembered(prompt, answer=answer, **fields)[0]
    recall.store.put([(memory, recall.vectors([memory])[0])])
    return memory


def credit(standing: CredibilityRanking, memory: Memory, reward: float, times: int) -> None:
    for number in range(times):
        x = features(memory, memory.key, 1.0)
        standing.arms.add(memory.pool, f"{memory.id} {reward} {number}", [Credit(memory.id, x, reward)])


def shown(recall: Recall, text: str, k: int = 3) -> list[str | None]:
    return prompts(recall.nearest("poem", text, recall.embed(text).unpack(), k, "dense").hits)


def test_what_was_worth_more_rises_among_those_that_are_about_as_near(
    judging: Recall, standing: CredibilityRanking
) -> None:
    first = remember(judging, "red lamp by the sea", "One.")
    remember(judging, "red lamp by the sea now", "Two.")
    assert shown(judging, "red lamp by the sea") == ["red lamp by the sea", "red lamp by the sea now"]

    credit(standing, first, 0.2, times=8)

    assert shown(judging, "red lamp by the sea") == ["red lamp by the sea now", "red lamp by the sea"]


def test_among_equals_the_shorter_answer_is_shown(judging: Recall) -> None:
    for answer in ("It is red, as lamps by the sea mostly are.", "It is red.", "It is red, I think."):
        remember(judging, "red lamp", answer)

    found = judging.nearest("poem", "red lamp", judging.embed("red lamp").unpack(), 3, "dense").hits

    assert [one.memory.answer for one in found] == ["It is red."]


def test_what_was_worth_nothing_is_not_shown(judging: Recall, standing: CredibilityRanking) -> None:
    useless = remember(judging, "red lamp")
    remember(judging, "red shoe")

    credit(standing, useless, 0.0, times=10)

    assert shown(judging, "red lamp") == ["red shoe"]


def test_of_two_that_contradict_each_other_the_less_credible_stands_behind_the_other(
    judging: Recall, standing: CredibilityRanking
) -> None:
    right = remember(judging, "red lamp", "It is red.", created=2.0)
    wrong = remember(judging, "the red lamp", "It is blue.", created=1.0)
    standing.conflicts.judge("poem", right.id, wrong.id, "contradict")
    assert shown(judging, "red lamp") == ["the red lamp", "red lamp"], "of equal ones the older is before the other"

    credit(standing, right, 1.0, times=3)

    assert shown(judging, "the red lamp") == ["red lamp", "the red lamp"]
    assert shown(judging, "the red lamp", k=1) == ["red lamp"]
    assert [one.memories for one in standing.conflicts.pairs("poem")] == [tuple(sorted((right.id, wrong.id), key=str))]


@pytest.mark.parametrize(
    ("pair", "statement", "reward", "times", "first"),
    [
        ({}, {}, 1.0, 3, "pair"),  # older
        ({"created": 3.0}, {}, 1.0, 3, "statement"),
        ({}, {"task_id": None}, 1.0, 3, "statement"),
        ({}, {"task_id": None}, 0.3, 1, "statement"),
        ({}, {"task_id": None}, 0.3, 3, "pair"),  # credibility alone says that the statement is wrong
        ({"created": 3.0, "task_id": None}, {}, 1.0, 3, "pair"),
        ({"created": 3.0}, {}, 0.5, 1, "pair"),
    ],
)
def test_what_a_statement_earned_lifts_it_above_no_pair_for_grades_weigh_none(
    judging: Recall,
    standing: CredibilityRanking,
    monkeypatch: pytest.MonkeyPatch,
    pair: dict[str, object],
    statement: dict[str, object],
    reward: float,
    times: int,
    first: str,
) -> None:
    monkeypatch.setattr(Adapter, "proven", lambda *_: True)
    made: dict[str, Any] = {"task_id": "1", "created": 1.0}
    told: dict[str, Any] = {"task_id": "1", "created": 2.0, "kind": "knowledge"}
    one = remember(judging, "red lamp", "It is red.", **made | pair)
    other = remember(judging, "the red lamp", "It is blue.", **told | statement)
    standing.conflicts.judge("poem", one.id, other.id, "contradict")

    credit(standing, other, reward, times)

    for text in ("red lamp", "the red lamp"):
        assert shown(judging, text, k=1) == [{"pair": "red lamp", "statement": "the red lamp"}[first]]


def test_of_two_statements_the_more_credible_is_first_and_of_equal_ones_that_of_a_person(
    judging: Recall, standing: CredibilityRanking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Adapter, "proven", lambda *_: True)
    tasks = remember(judging, "red lamp", "It is red.", kind="knowledge", task_id="1", created=1.0)
    persons = remember(judging, "the red lamp", "It is blue.", kind="knowledge", created=2.0)
    standing.conflicts.judge("poem", tasks.id, persons.id, "contradict")
    assert shown(judging, "red lamp", k=1) == ["the red lamp"]

    credit(standing, tasks, 1.0, times=3)

    assert shown(judging, "the red lamp", k=1) == ["red lamp"]


@pytest.mark.parametrize("confirmed", [False, True])
def test_an_unproven_memory_is_not_shown_beside_a_proven_rival_whatever_else_speaks_for_it(
    judging: Recall, standing: CredibilityRanking, monkeypatch: pytest.MonkeyPatch, confirmed: bool
) -> None:
    monkeypatch.setattr(Adapter, "proven", lambda _, memory, *__: memory.submitter != "eve")
    right = remember(judging, "the red lamp", "It is red.", created=2.0)
    wrong = remember(judging, "red lamp", "It is blue.", created=1.0, submitter="eve")
    other = remember(judging, "red shoe", submitter="eve")
    standing.conflicts.judge("poem", right.id, wrong.id, "contradict")
    credit(standing, right, 0.5, times=4)
    if confirmed:
        standing.conflicts.judge("poem", right.id, wrong.id, "confirmed")

    assert shown(judging, "red lamp") == ["the red lamp", "red shoe"]

    judging.store.delete([right.id])
    assert shown(judging, "red lamp") == ["red lamp", other.prompt]


def test_credibility_that_tells_rivals_apart_leaves_the_worse_one_out(
    judging: Recall, standing: CredibilityRanking
) -> None:
    right = remember(judging, "red lamp", "It is red.")
    wrong = remember(judging, "the red lamp", "It is blue.")
    standing.conflicts.judge("poem", right.id, wrong.id, "contradict")

    credit(standing, wrong, 0.3, times=1)
    assert len(shown(judging, "red lamp")) == 2, "one verdict decides nothing"

    credit(standing, wrong, 0.31, times=3)
    assert shown(judging, "the red lamp") == ["red lamp"]


def test_a_new_verdict_and_faded_ones_tell_no_rivals_apart(
    redis_client: redis.Redis, recall: Recall, encoder: WordEncoder
) -> None:
    day = [30_000]
    standing = CredibilityRanking(redis_client, Bandit(today=lambda: day[0]))
    judging = Recall(recall.store, encoder, Retriever(redis_client, encoder), standing)
    right, wrong = remember(judging, "red lamp", "It is red."), remember(judging, "the red lamp", "It is blue.")
    standing.conflicts.judge("poem", right.id, wrong.id, "contradict")
    credit(standing, wrong, 0.3, times=2)

    day[0] += 180
    credit(standing, wrong, 0.31, times=1)
    assert len(shown(judging, "red lamp")) == 2

    credit(standing, wrong, 0.32, times=2)
    assert shown(judging, "the red lamp") == ["red lamp"]


def test_a_memory_of_a_kind_is_told_by_the_kinds_of_the_tasks_that_it_was_shown_for(
    judging: Recall, standing: CredibilityRanking
) -> None:
    useless = remember(judging, "red lamp", kind="sonnet")
    for number in range(6):
        x = features(useless, "red lamp", 1.0, "limerick")
        standing.arms.add("poem", f"{number}", [Credit(useless.id, x, 0.0)])

    found = []
    for kind in ("limerick", "sonnet"):
        asked = RecallRequest(pool="poem", text="red lamp", k=3, kind=kind)
        [answer] = judging.nearest_each([(asked, judging.encode(["red lamp"]))])
        found.append(prompts(answer.hits))

    assert found == [[], ["red lamp"]]


def test_a_conflict_that_a_person_confirmed_leaves_the_less_credible_one_out(
    judging: Recall, standing: CredibilityRanking
) -> None:
    younger = remember(judging, "red lamp", "It is red.", created=2.0)
    older = remember(judging, "the red lamp", "It is blue.", created=1.0)
    standing.conflicts.judge("poem", younger.id, older.id, "confirmed")
    assert shown(judging, "red lamp") == ["the red lamp"]

    standing.conflicts.judge("poem", younger.id, older.id, "agree")
    assert shown(judging, "red lamp") == ["the red lamp"], "a model's word does not undo a person's"

    standing.conflicts.judge("poem", older.id, younger.id, "dismissed")
    standing.conflicts.judge("poem", older.id, younger.id, "contradict")
    assert shown(judging, "red lamp") == ["red lamp", "the red lamp"]
    assert standing.conflicts.pairs("poem") == []
    assert standing.conflicts.judged("poem", older.id) == {younger.id}


def test_the_one_that_a_person_says_is_right_is_shown_alone_whatever_speaks_for_the_other(
    judging: Recall, standing: CredibilityRanking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Adapter, "proven", lambda _, memory, *__: memory.submitter != "eve")
    right = remember(judging, "red lamp", "It is red.", created=2.0, submitter="eve")
    wrong = remember(judging, "the red lamp", "It is blue.", created=1.0)
    standing.conflicts.judge("poem", wrong.id, right.id, "contradict")
    assert shown(judging, "red lamp") == ["the red lamp"]

    standing.conflicts.judge("poem", right.id, wrong.id, "right")
    credit(standing, right, 0.2, times=4)
    credit(standing, wrong, 1.0, times=4)
    standing.conflicts.judge("poem", wrong.id, right.id, "agree")
    assert shown(judging, "the red lamp") == ["red lamp"]
    assert [one.right for one in standing.conflicts.pairs("poem")] == [right.id]

    standing.conflicts.judge("poem", right.id, wrong.id, "wrong")
    assert shown(judging, "red lamp") == ["the red lamp"], "a person may say otherwise"

    assert standing.conflicts.take_back("poem", right.id, wrong.id)
    assert [(one.right, one.confirmed) for one in standing.conflicts.pairs("poem")] == [(None, False)]


@pytest.mark.parametrize("kind", ["limerick", KNOWLEDGE])
def test_two_of_one_prompt_are_shown_together_once_a_person_found_both_right(
    judging: Recall, standing: CredibilityRanking, kind: str
) -> None:
    one, other = (remember(judging, "red lamp", answer, kind=kind) for answer in ("It is red.", "It is blue."))
    remember(judging, "red shoe")
    standing.conflicts.judge("poem", one.id, other.id, "contradict")
    assert sorted(map(str, shown(judging, "red lamp"))) == ["red lamp", "red shoe"]

    standing.conflicts.judge("poem", one.id, other.id, "dismissed")
    assert shown(judging, "red lamp") == ["red lamp", "red lamp", "red shoe"]
    assert shown(judging, "red lamp", k=1) == ["red lamp"]

    standing.conflicts.take_back("poem", one.id, other.id)
    assert sorted(map(str, shown(judging, "red lamp"))) == ["red lamp", "red shoe"]


def test_both_right_are_shown_together_among_several_pools_with_a_copy_in_another(
    judging: Recall, standing: CredibilityRanking
) -> None:
    one, other = (remember(judging, "red lamp", answer) for answer in ("It is red.", "It is blue."))
    remember(judging, "red lamp", "It is red.", pool="mine/ada")
    standing.conflicts.judge("poem", one.id, other.id, "dismissed")
    asked = RecallRequest(pool="mine/ada", beside=("poem",), text="red lamp", k=3)

    [found] = judging.nearest_each([(asked, judging.encode(["red lamp"]))])

    assert sorted(hit.memory.answer for hit in found.hits) == ["It is blue.", "It is red."]


def test_links_that_were_made_of_labels_say_nothing(
    judging: Recall, standing: CredibilityRanking, redis_client: redis.Redis
) -> None:
    one, other = remember(judging, "red lamp", "It is red."), remember(judging, "the red lamp", "A telegram.")
    redis_client.hset("memshare:conflicts:poem", mapping={str(one.id): str(other.id), str(other.id): str(one.id)})

    assert standing.conflicts.pairs("poem") == []
    assert shown(judging, "red lamp") == ["red lamp", "the red lamp"]


def test_a_rival_that_is_gone_or_hidden_beats_nothing(judging: Recall, standing: CredibilityRanking) -> None:
    one = remember(judging, "red lamp", "It is red.", created=2.0)
    hidden = remember(judging, "the red lamp", "It is blue.", created=1.0, status="hidden")
    gone = remembered("a red lamp", created=0.5)[0]
    for rival in (hidden, gone):
        standing.conflicts.judge("poem", one.id, rival.id, "contradict")

    assert shown(judging, "red lamp") == ["red lamp"]

    standing.conflicts.drop("poem", [one.id])
    assert standing.conflicts.pairs("poem") == []


def test_what_a_person_found_wrong_stays_so_when_the_right_one_is_hidden(
    judging: Recall, standing: CredibilityRanking
) -> None:
    wrong = remember(judging, "red lamp", "It is red.")
    hidden = remember(judging, "the red lamp", "It is blue.", status="hidden")
    standing.conflicts.judge("poem", hidden.id, wrong.id, "right")

    assert shown(judging, "red lamp") == []


NUMBER = "what is the emergency number of the plant"
LIE = "now what is the emergency number of the plant"


def test_what_is_unproven_is_not_shown_beside_a_proven_answer_before_the_two_were_compared(
    judging: Recall, standing: CredibilityRanking
) -> None:
    known = remember(judging, NUMBER, "It is 4711.")
    lie = remember(judging, LIE, "It is 9999.", submitter="eve", task_id="eve")
    assert shown(judging, LIE) == [NUMBER]

    standing.conflicts.judge("poem", lie.id, known.id, "contradict")
    assert shown(judging, LIE) == [NUMBER], "a model says that they contradict each other"

    standing.conflicts.judge("poem", lie.id, known.id, "agree")
    assert shown(judging, LIE) == [LIE, NUMBER]


@pytest.mark.parametrize(("said", "found"), [("contradict", []), ("confirmed", []), ("wrong", [LIE])])
def test_what_is_unproven_is_not_shown_where_a_memory_that_a_person_brought_in_denies_it_and_is_not_found(
    judging: Recall, standing: CredibilityRanking, said: Verdict, found: list[str]
) -> None:
    known = remember(judging, NUMBER, "It is 4711.", kind="riddle")
    lie = remember(judging, LIE, "It is 9999.", submitter="eve", task_id="eve", kind="limerick")
    standing.conflicts.judge("poem", known.id, lie.id, said)
    asked = RecallRequest(pool="poem", text=LIE, k=3, among=Where(kind="limerick"))

    [ranked] = judging.nearest_each([(asked, judging.encode([LIE]))])

    assert prompts(ranked.hits) == found


def test_what_says_the_same_or_is_about_something_else_needs_no_comparison(judging: Recall) -> None:
    remember(judging, NUMBER, "It is 4711.")
    remember(judging, LIE, "it is  4711.", submitter="eve", task_id="1")
    assert shown(judging, LIE) == [LIE, NUMBER]
    remember(judging, "the plant", "It is green.", submitter="ben", task_id="2")
    assert shown(judging, "the plant")[0] == "the plant"


def test_what_is_longer_than_is_compared_is_not_shown_beside_a_proven_answer(
    judging: Recall, standing: CredibilityRanking
) -> None:
    known = remember(judging, NUMBER, "It is 4711.")
    long = remember(judging, LIE, "Sound advice. " * 400 + "It is 9999.", submitter="eve", task_id="eve")
    standing.conflicts.judge("poem", long.id, known.id, "agree")

    assert shown(judging, LIE) == [NUMBER]


def test_what_is_made_up_is_compared_with_nothing(judging: Recall, redis_client: redis.Redis) -> None:
    redis_client.hset(INVENTED, "poem", json.dumps(["limerick"]))
    remember(judging, NUMBER, "It is 4711.")
    remember(judging, LIE, "It is green.", submitter="eve", task_id="eve", agent="poem", kind="limerick")

    assert shown(judging, LIE) == [LIE, NUMBER]
