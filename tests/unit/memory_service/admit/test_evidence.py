"""What graded tasks and feedback say of the memories that they were shown waits for the trainer of their pool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

import pytest
import redis

from memshare_broker.delivery.hops import NextMessage
from memshare_broker.wire.grades import GradedTask, JudgedAnswer, VerdictTask
from memshare_broker.wire.lessons import Evidence, LessonTask
from memshare_broker.wire.messages import Shown
from memshare_memory.admit.after import EVIDENCE_AT_ONCE, FEWEST_CANDIDATES, Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.bandit import Arms, GradeOfKind
from memshare_memory.belief.trust import waiting_key
from memshare_memory.memory import Memory, memory_id
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from tests.support.graded import graded
from tests.support.memories import remembered

LAMP, SHOE = "There was a lamp by the sea", "An old shoe with a hole in it"


@pytest.fixture
def settle(pool: Pool, redis_client: redis.Redis) -> SettleStage:
    return SettleStage(pool, redis_client, Lessons(redis_client, 1))


@pytest.fixture(autouse=True)
def usual(redis_client: redis.Redis) -> None:
    """Of 45 tasks of the kind the mean score is 60, so that it is trusted to nine tenths."""
    for number in range(45):
        Arms(redis_client).add("poem", f"before {number}", [], graded=GradeOfKind("limerick", 60))


def remember(recall: Recall, answer: str, prompt: str | None = "A verse", **fields: object) -> Memory:
    memory = remembered(prompt and f"{prompt} {answer}", answer=answer, **fields)[0]
    recall.store.put([(memory, recall.vectors([memory])[0])])
    return memory


def run(
    settle: SettleStage, recall: Recall, answer: str, shown: Sequence[Memory], score: float = 90, journey: str = "one"
) -> None:
    pair = graded(recall, "A verse", answer, score=score, journey=journey, shown=[one.id for one in shown])
    settle.run(journey, pair)


def waiting(client: redis.Redis, pool: str = "poem") -> list[Evidence]:
    return [Evidence.model_validate_json(one) for one in client.hvals(waiting_key(pool, "tests/words"))]


@pytest.mark.parametrize(
    ("score", "helped", "weight"), [(90, 1, 0.9 * 0.6), (100, 1, 0.9 * 0.8), (40, 0, 0.9 * 0.4), (0, 0, 0.9)]
)
def test_an_answer_says_of_what_it_followed_how_far_its_score_is_from_the_usual(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis, score: float, helped: float, weight: float
) -> None:
    shoe, lamp = remember(recall, SHOE, submitter="eve"), remember(recall, LAMP, submitter="bob")

    run(settle, recall, LAMP + ", red", [shoe, lamp], score)

    [said] = waiting(redis_client)
    assert (said.by, said.source, said.helped, said.text) == ("ada", "outcome", helped, "A verse")
    assert said.weight == pytest.approx(weight)
    assert (said.memory.id, said.memory.submitter) == (lamp.id, "bob")
    assert [one.id for one in said.beside] == [shoe.id]
    assert said.pair == memory_id("poem", "A verse", LAMP + ", red")
    assert said.memory.embedding.unpack() == pytest.approx(recall.encode([lamp.key])[0], abs=1e-3)
    assert said.prompt.unpack() == pytest.approx(recall.encode(["A verse"])[0], abs=1e-3)


def test_of_an_answer_that_followed_nothing_or_scored_as_usual_nothing_is_said(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    lamp = remember(recall, LAMP)

    run(settle, recall, "What else could anybody say here", [lamp], journey="unlike")
    run(settle, recall, LAMP, [lamp], score=60, journey="usual")
    run(settle, recall, LAMP, [], journey="shown nothing")

    assert waiting(redis_client) == []


@pytest.mark.parametrize("score", [0, 100])
def test_a_grade_says_nothing_of_a_pair_that_the_answer_contradicts(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis, score: float
) -> None:
    key = remember(recall, "The spare key hangs in the workshop")

    run(settle, recall, "The spare key hangs in the kitchen", [key], score)

    assert waiting(redis_client) == []


def test_the_first_task_of_a_kind_says_that_it_was_accepted_and_no_more_for_nothing_is_usual_yet(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    pair = graded(recall, "A verse", LAMP, shown=[remember(recall, LAMP).id])
    settle.run("one", pair.model_copy(update={"task": pair.task.model_copy(update={"kind": "sonnet"})}))

    assert [(one.weight, one.accepted) for one in waiting(redis_client)] == [(0.0, True)]


def test_a_task_that_is_settled_twice_says_it_once(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    lamp = remember(recall, LAMP)

    for _ in range(2):
        run(settle, recall, LAMP, [lamp], journey="one")
    assert len(waiting(redis_client)) == 1

    run(settle, recall, LAMP, [remember(recall, SHOE), lamp], journey="another")
    assert [len(one.beside) for one in waiting(redis_client)] == [1], "the last word of a person about a memory"


def test_nothing_is_said_of_statements_of_other_pools_or_of_what_was_forgotten(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    statement, foreign = remember(recall, LAMP, prompt=None), remember(recall, LAMP, pool="plan")
    gone = remember(recall, LAMP)
    recall.store.delete([gone.id])

    run(settle, recall, LAMP, [statement, foreign, gone])

    assert waiting(redis_client) == waiting(redis_client, "plan") == []


def with_shares(pair: GradedTask, *shares: tuple[Memory, float]) -> GradedTask:
    shown = tuple(Shown(id=memory.id, similarity=1, share=share) for memory, share in shares)
    return pair.model_copy(update={"task": pair.task.model_copy(update={"shown": shown})})


def test_shares_in_an_answer_that_was_found_right_are_the_weights_whatever_its_score(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    lamp, shoe, unused = remember(recall, LAMP), remember(recall, SHOE), remember(recall, "Something else entirely")
    pair = graded(recall, "A verse", LAMP, score=30, journey="one")

    settle.run("one", with_shares(pair, (lamp, 0.7), (shoe, 0.3), (unused, 0.0)))

    said = waiting(redis_client)
    assert {(one.memory.id, one.helped, one.weight) for one in said} == {(lamp.id, 1.0, 0.7), (shoe.id, 1.0, 0.3)}
    assert all(len(one.beside) == 2 for one in said)


def feedback(memories: Sequence[Memory], verdict: float, journey: str = "feedback") -> VerdictTask:
    shown = tuple(Shown(id=one.id, similarity=1) for one in memories)
    return VerdictTask(journey=journey, pool="poem", prompt="A verse", submitter="bob", shown=shown, verdict=verdict)


def test_feedback_is_evidence_in_the_name_of_who_gave_it(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    lamp = remember(recall, LAMP)

    for _ in range(2):
        settle.credit(feedback([lamp], 0.0))

    [said] = waiting(redis_client)
    assert (said.by, said.source, said.memory.id, said.helped, said.weight) == ("bob", "feedback", lamp.id, 0, 1)
    assert (said.pair, said.beside) == (None, ())


def test_a_verdict_without_shares_says_the_same_of_all_pairs_together(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    pairs = [remember(recall, LAMP), remember(recall, SHOE)]

    settle.credit(feedback([*pairs, remember(recall, "Lamps are red", prompt=None)], 1.0))

    assert [(one.memory.id, one.helped, one.weight) for one in waiting(redis_client)] == [
        (one.id, 1.0, 0.5) for one in pairs
    ]


def test_verdicts_on_several_answers_are_one_word_by_their_shares(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    lamp = remember(recall, LAMP)
    wrong, right = (
        JudgedAnswer(shown=(Shown(id=lamp.id, similarity=1, share=share),), verdict=verdict)
        for share, verdict in ((0.2, 0), (0.6, 1))
    )

    settle.credit(feedback([], 1.0).model_copy(update={"shown": wrong.shown, "verdict": 0.0, "others": (right,)}))

    [said] = waiting(redis_client)
    assert (said.memory.id, said.helped, said.weight) == (lamp.id, pytest.approx(0.75), pytest.approx(0.8))


def test_where_nobody_learns_there_is_no_evidence(recall: Recall, pool: Pool, redis_client: redis.Redis) -> None:
    settle, lamp = SettleStage(pool, redis_client, Lessons(redis_client, 1, learn=False)), remember(recall, LAMP)

    outcomes = [settle.credit(feedback([lamp], 1.0, f"{number}")) for number in range(EVIDENCE_AT_ONCE)]

    assert waiting(redis_client) == []
    assert all(one.followings == () for one in outcomes)


def told(settle: SettleStage, recall: Recall, count: int, together: int = 1) -> list[NextMessage]:
    """What follows from so many feedbacks, each about other memories."""
    of_each = [[remember(recall, f"{LAMP} {number} {place}") for place in range(together)] for number in range(count)]
    told = [settle.credit(feedback(some, 1.0, f"{number}")) for number, some in enumerate(of_each)]
    return [one for outcome in told for one in outcome.followings]


@pytest.mark.parametrize("together", [1, 3])
def test_the_trainer_is_told_whenever_ten_more_words_wait_however_many_come_at_once(
    recall: Recall, settle: SettleStage, together: int
) -> None:
    messages = told(settle, recall, 3 * EVIDENCE_AT_ONCE, together)

    assert len(messages) == 3 * together
    lesson = messages[0].body
    assert isinstance(lesson, LessonTask)
    assert (lesson.pool, lesson.memory_id, lesson.candidates) == ("poem", None, ())


def test_evidence_takes_the_place_of_no_lesson(recall: Recall, settle: SettleStage) -> None:
    lamps = [remember(recall, f"{LAMP} {number}") for number in range(FEWEST_CANDIDATES)]
    assert told(settle, recall, EVIDENCE_AT_ONCE - 1) == []
    [of_verdict] = settle.credit(feedback(lamps[:1], 0.0, "one")).followings

    pair = graded(recall, "A verse", "Not like any of them", journey="one")
    [lesson] = settle.run("one", pair).followings

    assert isinstance(lesson.body, LessonTask)
    assert lesson.body.memory_id is not None
    assert lesson.entry("one").id != of_verdict.entry("one").id, "each message is delivered once"


def test_a_lesson_brings_the_evidence_to_the_trainer_without_a_message_of_its_own(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    lamps = [remember(recall, f"{LAMP} {number}") for number in range(FEWEST_CANDIDATES)]
    told(settle, recall, EVIDENCE_AT_ONCE - 1)

    pair = graded(recall, "A verse", f"{LAMP} 0 now", journey="one", shown=[lamps[0].id])
    [message] = settle.run("one", pair).followings

    assert len(waiting(redis_client)) == EVIDENCE_AT_ONCE
    assert isinstance(message.body, LessonTask)
    assert message.body.memory_id == memory_id("poem", "A verse", f"{LAMP} 0 now")


def test_evidence_is_kept_under_the_encoder_of_its_vectors_also_when_the_prompt_came_with_anothers(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    lamp = remember(recall, LAMP)
    pair = graded(recall, "A verse", LAMP, journey="one", shown=[lamp.id])
    foreign = recall.embed("A verse").model_copy(update={"encoder": "tests/other"})

    settle.run("one", pair.model_copy(update={"task": pair.task.model_copy(update={"embedding": foreign})}))

    [said] = waiting(redis_client)
    assert said.prompt.encoder == said.memory.embedding.encoder == "tests/words"


def word(recall: Recall, by: str, number: int, at: float = 1.0) -> Evidence:
    return Evidence.model_validate(
        {
            "by": by,
            "source": "feedback",
            "text": "A verse",
            "prompt": recall.embed("A verse"),
            "memory": {"id": UUID(int=number), "embedding": recall.embed(LAMP), "submitter": "eve"},
            "helped": 1.0,
            "at": at,
        }
    )


def test_one_persons_flood_pushes_out_nobody_elses_words_and_their_last_about_a_memory_replaces_the_earlier(
    redis_client: redis.Redis, recall: Recall
) -> None:
    arms = Arms(redis_client)
    people = {name: [word(recall, name, number) for number in range(20)] for name in ("bob", "cleo")}
    for name, said in people.items():
        arms.add("poem", name, [], evidence=said, encoder="tests/words")

    for first in range(0, 3_000, 500):
        flood = [word(recall, "mallory", first + number) for number in range(500)]
        counted = arms.add("poem", f"flood {first}", [], evidence=flood, encoder="tests/words")
    again = arms.add("poem", "again", [], evidence=[word(recall, "bob", 0, at=2.0)], encoder="tests/words")

    assert counted == (1_000, 500)
    assert again == (1_000, 0)
    kept = waiting(redis_client)
    assert Counter(one.by for one in kept) == {"bob": 20, "cleo": 20, "mallory": 960}
    assert [one.at for one in kept if one.by == "bob" and one.memory.id == UUID(int=0)] == [2.0]


def test_a_person_who_says_it_over_and_over_sends_the_trainer_one_word_and_no_messages(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    lamp = remember(recall, LAMP)

    outcomes = [settle.credit(feedback([lamp], number % 2, f"{number}")) for number in range(1_000)]

    assert [one.followings for one in outcomes if one.followings] == []
    assert [one.helped for one in waiting(redis_client)] == [1.0]
