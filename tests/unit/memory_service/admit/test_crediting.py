from __future__ import annotations

from uuid import UUID

import numpy as np
import pytest
import redis

from memshare_broker.wire.grades import GradedTask, JudgedAnswer, MemoriesCredited, VerdictTask
from memshare_broker.wire.messages import Shown
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.crediting import Usual, usual_score
from memshare_memory.admit.followed import that_count
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.bandit import ALPHA, Arms, GradeOfKind
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.memory import FLOOR, Memory
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import by_ids
from tests.support.graded import graded
from tests.support.memories import remembered


@pytest.fixture
def settle(pool: Pool, redis_client: redis.Redis) -> SettleStage:
    return SettleStage(pool, redis_client, Lessons(redis_client, 1))


@pytest.fixture
def ranking(redis_client: redis.Redis) -> CredibilityRanking:
    return CredibilityRanking(redis_client)


def remember(recall: Recall, *names: str) -> list[Memory]:
    memories = [remembered(name)[0] for name in names]
    recall.store.put([(one, recall.vectors([one])[0]) for one in memories])
    return memories


def state(recall: Recall, text: str) -> Memory:
    """A statement of the pool."""
    memory = remembered(None, answer=text)[0]
    recall.store.put([(memory, recall.vectors([memory])[0])])
    return memory


def p_of(ranking: CredibilityRanking, memory: Memory) -> float:
    return ranking.credibilities(memory.pool, [memory])[0].p


def shared(pair: GradedTask, **shares: float) -> GradedTask:
    """The same task, of which an agent judged the shares."""
    shown = tuple(Shown(id=UUID(one), similarity=1, share=share) for one, share in shares.items())
    return pair.model_copy(update={"task": pair.task.model_copy(update={"shown": shown})})


def test_a_small_share_in_verified_answers_is_never_punished_and_earns_less_than_a_large_one(
    recall: Recall, settle: SettleStage, ranking: CredibilityRanking
) -> None:
    large, small = remember(recall, "A lamp of old", "A lamp of new")
    seen = []
    for number in range(12):
        pair = graded(recall, f"task {number}", f"answer {number}", journey=f"journey {number}", score=60)
        shares = {str(large.id): 0.6, str(small.id): 0.075}
        settle.run(pair.task.journey, shared(pair, **shares))
        seen.append((p_of(ranking, small), p_of(ranking, large)))

    assert all(low > ALPHA for low, _ in seen), "an eighth of the largest share, twelve times"
    assert seen[0][0] < seen[0][1]


def test_a_rejected_answer_lowers_its_memories_by_their_shares_and_leaves_alone_what_it_did_not_use(
    recall: Recall, settle: SettleStage, ranking: CredibilityRanking
) -> None:
    memories = remember(recall, "red lamp", "old lamp", "new lamp")
    shown = tuple(
        Shown(id=one.id, similarity=1, share=share) for one, share in zip(memories, (0.6, 0.3, 0.0), strict=True)
    )
    task = VerdictTask(journey="one", pool="poem", prompt="A lamp", shown=shown, verdict=0)

    assert [settle.credit(task).record for _ in range(2)] == [MemoriesCredited(memories=2)] * 2

    most, less, unused = (p_of(ranking, one) for one in memories)
    assert most < less < unused == pytest.approx(ALPHA)
    assert [arm.credits for arm in ranking.arms.of("poem", [one.id for one in memories])] == [1, 1, 0]


def test_every_verdict_on_a_runs_way_counts_once_by_its_share_both_ways(
    recall: Recall, settle: SettleStage, ranking: CredibilityRanking
) -> None:
    [memory] = remember(recall, "red lamp")

    def answer(share: float, verdict: float) -> JudgedAnswer:
        return JudgedAnswer(shown=(Shown(id=memory.id, similarity=1, share=share),), verdict=verdict)

    wrong, right = answer(0.35, 0), answer(0.75, 1)
    task = VerdictTask(
        journey="one", pool="poem", prompt="red lamp", shown=wrong.shown, verdict=wrong.verdict, others=(right,)
    )

    for _ in range(2):
        settle.credit(task)

    assert p_of(ranking, memory) == pytest.approx(1.5 * 0.75 / 2.1 + 2.1**-0.5, abs=0.01)
    assert [arm.credits for arm in ranking.arms.of("poem", [memory.id])] == [2]


def test_a_task_credits_once_and_by_its_grade_and_its_verdict_each(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis
) -> None:
    memory = state(recall, "A lamp is old")
    gone = UUID(int=9)

    for journey, score in (("one", 90.0), ("one", 90.0), ("two", 30.0)):
        settle.run(journey, graded(recall, journey, "old", journey=journey, score=score, shown=[memory.id, gone]))
    settle.credit(
        VerdictTask(
            journey="one",
            pool="poem",
            prompt="",
            submitter="bob",
            shown=(Shown(id=memory.id, similarity=1),),
            verdict=1,
        )
    )

    arm, other = Arms(redis_client).of("poem", [memory.id, gone])
    assert (arm.credits, other.credits) == (3, 0)
    first, second, verdict = 1.0, 1 + 1 / 6 * (30 - 90) / 100, 1.5
    assert np.linalg.norm(arm.b) == pytest.approx(first + second + verdict, rel=0.05), (
        "along features that differ little"
    )
    assert usual_score(redis_client, "poem", "limerick") == Usual(2, 60)


def test_pairs_are_credited_by_shares_alone(recall: Recall, settle: SettleStage, ranking: CredibilityRanking) -> None:
    [pair], statement = remember(recall, "A lamp of old"), state(recall, "A lamp is old")
    ids = [pair.id, statement.id]

    for number in range(3):
        settle.run(f"{number}", graded(recall, f"task {number}", "Old.", journey=f"{number}", score=10, shown=ids))
        shown = tuple(Shown(id=one, similarity=1) for one in ids)
        by = f"bob {number}"
        settle.credit(VerdictTask(journey=by, pool="poem", prompt="A lamp", submitter=by, shown=shown, verdict=0))

    arms = ranking.arms.of("poem", ids)
    assert [arm.credits for arm in arms] == [6, 6]
    assert [arm.is_tried for arm in arms] == [False, True]
    assert p_of(ranking, pair) == ALPHA


@pytest.mark.parametrize(
    ("answer", "credited"),
    [
        ("It costs 14 euros.", [0, 1, 0]),
        ("Fourteen, so to speak.", [0, 1, 0]),
        ("More than a dozen.", [0, 0, 0]),
        ("It costs 12 euros, not 14 euros.", [1, 1, 0]),
        ("Dogs go free.", [0, 0, 1]),
    ],
)
def test_a_grade_says_nothing_of_a_statement_that_the_answer_does_not_follow(
    recall: Recall, settle: SettleStage, redis_client: redis.Redis, answer: str, credited: list[int]
) -> None:
    less, more, other = (
        state(recall, text)
        for text in ("An adult pays 12 euros.", "An adult pays 14 euros.", "Dogs go free on all ships.")
    )
    ids = [one.id for one in (less, more, other)]

    settle.run("1", graded(recall, "What does it cost?", answer, journey="1", score=90, shown=ids))

    assert [arm.credits for arm in Arms(redis_client).of("poem", ids)] == credited
    there = by_ids(recall.store, ids)
    assert [there[one].confirmed is not None for one in ids] == [bool(one) for one in credited]


@pytest.mark.parametrize("accepted", [0, 3])
def test_a_rejected_answer_raises_no_statement_that_it_follows_however_low_the_usual_score_is(
    recall: Recall, settle: SettleStage, ranking: CredibilityRanking, redis_client: redis.Redis, accepted: int
) -> None:
    memory = state(recall, "the lamp")
    for number in range(accepted):
        pair = graded(recall, f"task {number}", "the lamp", journey=f"{number}", score=90, shown=[memory.id])
        settle.run(pair.task.journey, pair)
    for number in range(100):
        Arms(redis_client).add("poem", f"usual {number}", [], graded=GradeOfKind("limerick", 40))
    seen = [p_of(ranking, memory)]

    for number, score in enumerate((80, 45, 38, 60, 80)):
        pair = graded(recall, f"no {number}", "the lamp", journey=f"no {number}", score=score, shown=[memory.id])
        settle.run(pair.task.journey, pair)
        seen.append(p_of(ranking, memory))

    assert [round(p, 9) for p in seen] == sorted((round(p, 9) for p in seen), reverse=True)
    assert seen[-1] >= ALPHA - 1e-9, "and as good as the usual ones it takes nothing from what it earned"


def test_one_look_is_for_all_statements_that_a_rejected_answer_follows(
    recall: Recall, settle: SettleStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [state(recall, text).id for text in ("An adult pays 12 euros.", "Dogs go free on all ships.")]
    looks, of = list[set[UUID]](), Arms.of
    monkeypatch.setattr(Arms, "of", lambda arms, pool, some: (looks.append({*some}), of(arms, pool, some))[1])
    answer = "An adult pays 12 euros, and dogs go free."

    settle.run("1", graded(recall, "What does it cost?", answer, journey="1", score=10, shown=ids))

    assert looks
    assert all(look == {*ids} for look in looks)


@pytest.mark.parametrize("asked", [None, "Where is the spare key?"])
@pytest.mark.parametrize("score", [5, 95])
def test_a_grade_is_none_of_what_the_answer_contradicts(
    recall: Recall, settle: SettleStage, ranking: CredibilityRanking, asked: str | None, score: float
) -> None:
    memory = remembered(asked, answer="The spare key hangs in the workshop.")[0]
    recall.store.put([(memory, recall.vectors([memory])[0])])
    answer = "The spare key hangs in the kitchen."

    settle.run("1", graded(recall, "Where is the spare key?", answer, journey="1", score=score, shown=[memory.id]))

    assert p_of(ranking, memory) == pytest.approx(ALPHA)
    assert [arm.credits for arm in ranking.arms.of("poem", [memory.id])] == [0]
    assert by_ids(recall.store, [memory.id])[memory.id].confirmed is None


def test_a_memory_whose_tasks_are_hard_is_still_shown_if_it_helps_and_not_if_it_harms(
    recall: Recall, settle: SettleStage, ranking: CredibilityRanking, redis_client: redis.Redis
) -> None:
    good, harmful = state(recall, "the good one"), state(recall, "the bad one")
    for number in range(100):
        for name, score, shown in (("with", 20, [good.id]), ("without", 10, [])):
            pair = graded(recall, f"{name} {number}", "good", journey=f"{name} {number}", score=score, shown=shown)
            settle.run(pair.task.journey, pair)
    assert p_of(ranking, good) == pytest.approx(ALPHA), "none of these was accepted"

    arms = Arms(redis_client)
    for number in range(200):
        arms.add("poem", f"usual {number}", [], graded=GradeOfKind("sonnet", 90))
    for number in range(40):
        pair = graded(recall, harmful.key, "bad", journey=f"harmed {number}", score=5, shown=[harmful.id])
        like_it = (Shown(id=harmful.id, similarity=1),)
        settle.run(
            pair.task.journey,
            pair.model_copy(update={"task": pair.task.model_copy(update={"kind": "sonnet", "shown": like_it})}),
        )
    assert p_of(ranking, harmful) < FLOOR


@pytest.mark.parametrize(
    ("answer", "counting"),
    [
        ("An adult pays 14 euros.", "14"),
        ("14 euros", "14"),
        ("An adult pays 14 euros. Dogs go free on all ships.", "14 dogs"),
        ("An adult needs 14.", "14"),
        ("Grown-ups pay fourteen.", "14"),
        ("Grown-ups pay for it.", "12 14"),  # in other words nobody can say which
        ("An adult pays 15 euros.", ""),
        ("12 euros.", "12"),
        ("It costs nothing.", ""),
    ],
)
@pytest.mark.parametrize("prompt", [None, "What does it cost?"])
def test_of_two_sentences_of_one_form_the_one_that_the_answer_repeats_counts(
    answer: str, counting: str, prompt: str | None
) -> None:
    said = {"12": "An adult pays 12 euros.", "14": "An adult pays 14 euros.", "dogs": "Dogs go free on all ships."}
    there = {name: remembered(prompt, answer=text, kind="knowledge")[0] for name, text in said.items()}
    shown = {one.id: Shown(id=one.id, similarity=1) for one in there.values()}

    found = that_count(answer, "What does it cost?", shown, {one.id: one for one in there.values()})

    assert found == [there[name].id for name in counting.split()]


@pytest.mark.parametrize(
    ("answer", "counting"),
    [
        ("Sundays: come to the lighthouse from 11 until 15.", "11 15"),
        ("Sundays: come to the lighthouse from 10 until 15.", "10 15"),
        ("Sundays: come to the lighthouse from 10 until 16; a child pays 5.", "10 16 5"),
        ("Sundays: come to the lighthouse.", "10 16 11 15 10 15 5"),
    ],
)
def test_of_two_times_the_one_counts_of_which_an_answer_in_other_words_has_more_numbers(
    answer: str, counting: str
) -> None:
    texts = {
        "10 16": "The lighthouse is open on Sundays from 10 to 16.",
        "11 15": "The lighthouse opens from 11 to 15 only.",
        "10 15": "The lighthouse opens from 10 to 15 only.",
        "5": "At the lighthouse a child pays 5 euros.",
    }
    there = {text: remembered(None, answer=text)[0] for text in texts.values()}
    by_id = {one.id: one for one in there.values()}

    found = that_count(answer, "When?", {name: Shown(id=name, similarity=1) for name in by_id}, by_id)

    assert " ".join(numbers for numbers, text in texts.items() if there[text].id in found) == counting


MUSEUM, MILL = "When does the museum of Elv open?", "When does the mill of Elv open?"
BAKER, MAYOR = "Who is the baker of Rye?", "Who is the mayor of Rye?"


@pytest.mark.parametrize(
    ("prompt", "answer", "nearer", "other", "counting"),
    [
        (MUSEUM, "The museum of Elv opens at 9.", ("When does it open?", "It opens at 9."), (MILL, "In Elv at 9."), 2),
        (MUSEUM, "The museum of Elv opens at 9.", (MUSEUM, "At 9."), (None, "The mill of Elv opens at 9."), 2),
        (MUSEUM, "It opens at 10.", (MUSEUM, "It opens at 10."), (MILL, "At 9."), 1),
        (BAKER, "Arne Lund, as all know.", (BAKER, "Arne Lund"), (MAYOR, "Arne Lund, as all know."), 2),
        (BAKER, "Arne Lund, as all know.", (BAKER, "Ida Moe"), (MAYOR, "Arne Lund, as all know."), 0),
    ],
)
def test_what_says_the_same_of_a_near_subject_takes_nothing_from_what_was_asked_for(
    prompt: str, answer: str, nearer: tuple[str, str], other: tuple[str | None, str], counting: int
) -> None:
    """`counting` is 2 where both count, 1 where the nearer one does alone, 0 where the other does."""
    first, second = (remembered(asked, answer=told)[0] for asked, told in (nearer, other))
    shown = {first.id: Shown(id=first.id, similarity=0.95), second.id: Shown(id=second.id, similarity=0.65)}

    found = that_count(answer, prompt, shown, {one.id: one for one in (first, second)})

    assert found == {0: [second.id], 1: [first.id], 2: [first.id, second.id]}[counting]


def test_shares_that_an_agent_judged_and_what_is_gone_count_as_they_are() -> None:
    less, more = (remembered("price", answer=f"An adult pays {number} euros.")[0] for number in (12, 14))
    gone = UUID(int=9)
    shown = {
        less.id: Shown(id=less.id, similarity=1, share=0.1),
        more.id: Shown(id=more.id, similarity=1),
        gone: Shown(id=gone, similarity=1),
    }

    assert that_count(more.answer, "price", shown, {one.id: one for one in (less, more)}) == [less.id, more.id, gone]
