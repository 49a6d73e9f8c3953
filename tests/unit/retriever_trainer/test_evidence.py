"""What graded answers and feedback teach, through the log and the trainer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import redis

from memshare_broker.wire.lessons import Evidence, Lesson
from memshare_memory.recall.retriever import Adapter
from memshare_trainer import replay_buffer
from memshare_trainer.labels import Labels
from memshare_trainer.learn import Learner, LearnStage
from memshare_trainer.lesson import LessonChange, Update
from memshare_trainer.lesson_log import EVIDENCE_KEPT, LessonLog
from memshare_trainer.replay_buffer import is_held_out_evidence
from tests.support.lessons import DIMENSION, ENCODER, FormLabeller, accepted, helps, lesson, let_wait, notice, word

SUBMITTERS = ("ada", "bob", "cleo", "mallory")


def trainer(client: redis.Redis) -> LearnStage:
    return LearnStage(client, FormLabeller(), kept=200, keep_days=1)  # type: ignore[arg-type]


def log_of(client: redis.Redis) -> LessonLog:
    return LessonLog(client, "poem", ENCODER, kept=200, keep_days=1)


def now(client: redis.Redis) -> Adapter:
    """What another trainer would go on from."""
    found = Learner(log_of(client), DIMENSION)
    found.catch_up()
    return found.adapter()


def told(client: redis.Redis, stage: LearnStage, journey: str, *said: Evidence) -> Lesson:
    """Let evidence wait, and tell the trainer."""
    let_wait(client, *said)
    record = stage.run(journey, notice(journey)).record
    assert isinstance(record, Lesson)
    return record


def teach(stage: LearnStage, numbers: range, whose: Sequence[str] = ("ada", "bob"), by: str = "cleo") -> None:
    for number in numbers:
        task = lesson(number, by=by, whose=whose)
        stage.run(task.journey, task)


def score(adapter: Adapter, number: int, place: int, of: str) -> float:
    task = lesson(number)
    rows = task.candidates[place].embedding.unpack()[None]
    return float(adapter.scores(task.embedding.unpack(), rows, [of])[0])


def trained_on(said: Evidence) -> Evidence:
    assert not is_held_out_evidence(said)
    return said


def test_a_thousand_words_of_one_person_move_a_memory_no_more_than_one(redis_client: redis.Redis) -> None:
    blame = trained_on(word("mallory", 70, of="ada", helped=0.0))
    scores = []
    for count in (0, 1, 1_000):
        redis_client.flushall()
        stage = trainer(redis_client)
        teach(stage, range(20))
        for first in range(0, count, 10):
            told(redis_client, stage, f"said {first}", *[blame] * min(10, count - first))
        scores.append(score(now(redis_client), 70, 0, "ada"))
        assert len(log_of(redis_client).evidence()) == min(count, 1)

    without, one, thousand = scores
    assert one < without
    assert thousand == one


def test_words_that_wait_together_count_once_too(redis_client: redis.Redis) -> None:
    blame = trained_on(word("mallory", 70, of="ada", helped=0.0))
    praise = [trained_on(word("bob", number, of="cleo")) for number in (71, 72)]
    scores = []
    for count in (1, 90):
        redis_client.flushall()
        stage = trainer(redis_client)
        teach(stage, range(20))
        record = told(redis_client, stage, "said", *[blame] * count, *praise)
        assert record.evidence == 3
        scores.append(score(now(redis_client), 70, 0, "ada"))

    assert scores[0] == scores[1]


def test_the_last_word_of_a_person_is_the_one_that_counts(redis_client: redis.Redis) -> None:
    stage = trainer(redis_client)
    first = told(redis_client, stage, "first", word("bob", 70, of="ada", helped=1.0, at=1))
    second = told(redis_client, stage, "second", word("bob", 70, of="ada", helped=0.0, at=2))

    assert (first.evidence, second.evidence) == (1, 0)
    assert [one.helped for one in log_of(redis_client).evidence()] == [0.0]
    assert log_of(redis_client).waiting() == {}


@pytest.mark.parametrize("others", [True, False])
def test_words_about_ones_own_memories_move_nothing_where_others_speak(
    redis_client: redis.Redis, *, others: bool
) -> None:
    own = [word("mallory", number, of="mallory", at=number) for number in range(100, 140)]
    other = [trained_on(word("bob", 71, of="ada"))] if others else []
    found = []
    for praise in ([], own):
        redis_client.flushall()
        stage = trainer(redis_client)
        told(redis_client, stage, "said", *praise, *other)
        found.append(now(redis_client))
    without, praised = found
    standing = log_of(redis_client).standings().submitters.get("mallory")

    if others:
        assert np.array_equal(praised.matrix(DIMENSION), without.matrix(DIMENSION))
        assert praised.worth == without.worth
        assert standing is None
    else:
        assert not np.array_equal(praised.matrix(DIMENSION), without.matrix(DIMENSION))
        assert standing is not None
        assert not standing.proven, "alone nobody proves themselves"


def graded(number: int, whose: Sequence[str]) -> list[Evidence]:
    """What eight tasks say: memories of mallory mislead, whatever their form; those of others help by their form."""
    task = lesson(number, whose=whose)
    found = []
    for place, one in enumerate(task.candidates):
        good = helps(one, task) and one.submitter != "mallory"
        by = ("dora", "fritz")[number % 2]
        said = word(by, number, of=one.submitter, helped=float(good), at=number, place=place)
        found.append(said.model_copy(update={"source": "outcome", "accepted": good}))
    return found


def first_helps(adapter: Adapter, whose: Sequence[str], bad: str = "mallory") -> tuple[float, float]:
    """How often what is ranked first helps, and how often it is of who misleads, in tasks that nobody has seen."""
    right, theirs = [], []
    for number in range(1_000, 1_080):
        task = lesson(number, whose=whose)
        rows = np.stack([one.embedding.unpack() for one in task.candidates])
        found = adapter.scores(task.embedding.unpack(), rows, [one.submitter for one in task.candidates])
        best = task.candidates[int(found.argmax())]
        theirs.append(best.submitter == bad)
        right.append(helps(best, task) and best.submitter != bad)
    return float(np.mean(right)), float(np.mean(theirs))


class Truthful(FormLabeller):
    """Knows that memories of mallory mislead."""

    def label(self, task):  # type: ignore[no-untyped-def]
        found = super().label(task)
        values = [
            0.9 if one.submitter == "mallory" else p for one, p in zip(task.candidates, found.values, strict=True)
        ]
        return Labels(tuple(values), found.way, found.usage)


def test_a_submitter_whose_memories_mislead_is_ranked_first_no_more_and_a_new_honest_one_is_proven_soon(
    redis_client: redis.Redis,
) -> None:
    stage = LearnStage(redis_client, Truthful(), kept=200, keep_days=1)  # type: ignore[arg-type]
    teach(stage, range(100), whose=SUBMITTERS, by="dora")
    for number in range(200, 250):
        told(redis_client, stage, f"graded {number}", *graded(number, SUBMITTERS))
    log = log_of(redis_client)
    published = log.published(log.head().version)
    assert published is not None
    untrained, learnt = first_helps(Adapter(), SUBMITTERS), first_helps(published.adapter(), SUBMITTERS)

    assert untrained[1] > 0.15
    assert learnt[1] <= 0.05
    assert learnt[0] > untrained[0] + 0.15
    standings = log.standings()
    assert standings.submitters["mallory"].worth < -0.05
    assert standings.proven.keys() == {"ada", "bob", "cleo"}

    for by, first in (("dora", 300), ("fritz", 302)):
        assert "erin" not in log.standings().proven
        few = [accepted(by, number, of="erin", at=number) for number in (first, first + 1)]
        told(redis_client, stage, f"erin {first}", *few)

    assert log.standings().submitters["erin"].words == 4
    assert len(log.standings().proven["erin"]) == 4


def test_worth_costs_nothing_where_nobody_misleads(redis_client: redis.Redis) -> None:
    stage = trainer(redis_client)
    teach(stage, range(100), whose=SUBMITTERS, by="dora")
    log = log_of(redis_client)
    published = log.published(log.head().version)
    assert published is not None
    assert published.worth.keys() == set(SUBMITTERS)
    without = Adapter.of(1, published.unpack(), {})

    cost = first_helps(without, SUBMITTERS, "nobody")[0] - first_helps(published.adapter(), SUBMITTERS, "nobody")[0]
    assert cost <= 0.02


def test_a_killed_trainer_leaves_evidence_learnt_from_once(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [trained_on(word("bob", number, of="ada", at=number)) for number in (70, 71, 72)]
    commit, log = LessonLog.commit, log_of(redis_client)

    def killed_before(*_: object) -> None:
        raise KeyboardInterrupt

    def killed_after(*given: object) -> None:
        commit(*given)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    stage = trainer(redis_client)
    for death in (killed_before, killed_after):
        monkeypatch.setattr(LessonLog, "commit", death)
        with pytest.raises(KeyboardInterrupt):
            told(redis_client, stage, "said", *([] if log.waiting() else said))
        assert len(log.waiting()) == (3 if death is killed_before else 0)
    monkeypatch.setattr(LessonLog, "commit", commit)
    again = told(redis_client, stage, "said")

    assert again.evidence == 3
    assert (log.head().steps, log.counts()["evidence"], len(log.evidence())) == (1, 1, 3)
    assert log.standings().submitters["ada"].words == 3
    alive = stage._learners["poem", ENCODER]
    alive.catch_up()
    assert np.array_equal(alive.adapter().matrix(DIMENSION), now(redis_client).matrix(DIMENSION))


def test_what_a_person_says_otherwise_while_their_word_is_learnt_from_is_learnt_next(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, stage, log = LessonLog.commit, trainer(redis_client), log_of(redis_client)

    def meanwhile(*given: object) -> Lesson | None:
        let_wait(redis_client, word("bob", 70, of="ada", helped=0.0, at=2))
        return commit(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(LessonLog, "commit", meanwhile)
    told(redis_client, stage, "first", word("bob", 70, of="ada", helped=1.0, at=1))
    monkeypatch.setattr(LessonLog, "commit", commit)
    assert [one.helped for one in log.waiting().values()] == [0.0]

    told(redis_client, stage, "second")

    assert [one.helped for one in log.evidence()] == [0.0]
    assert log.waiting() == {}


def test_one_persons_many_words_take_the_place_of_nobody_elses_that_are_kept(redis_client: redis.Redis) -> None:
    log = log_of(redis_client)
    flood = [word("mallory", number, of="ada") for number in range(EVIDENCE_KEPT + 200)]
    others = [word(name, number, of="ada") for name in ("bob", "cleo") for number in range(20)]
    for number, said in enumerate((others, flood)):
        let_wait(redis_client, *said)
        update = Update(at=0, memory_id=None, counted=0, lesson=Lesson(outcome="learnt", reason="a test"))
        with log.lease() as fence:
            log.commit(fence, f"{number}", LessonChange(update, log.standings(), evidence=log.waiting()))

    assert log.waiting() == {}
    assert Counter(one.by for one in log.evidence()) == {"bob": 20, "cleo": 20, "mallory": EVIDENCE_KEPT - 40}


def test_steps_for_evidence_after_a_checkpoint_are_made_again(redis_client: redis.Redis) -> None:
    stage = trainer(redis_client)
    for number in range(15):  # a checkpoint comes at the tenth
        told(redis_client, stage, f"said {number}", *graded(number + 200, SUBMITTERS[:2]))

    head, later = log_of(redis_client).head(), Learner(log_of(redis_client), DIMENSION)
    later.catch_up()

    assert later.steps == head.steps == 15
    alive = stage._learners["poem", ENCODER].adapter().matrix(DIMENSION)
    assert float((later.adapter().matrix(DIMENSION) * alive).sum()) > 0.9 * np.linalg.norm(alive) ** 2


def test_a_trainer_holds_no_more_evidence_than_the_log(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_buffer, "MOST_EVIDENCE", 30)
    stage = trainer(redis_client)

    held = 0
    for number in range(4):
        told(redis_client, stage, f"said {number}", *graded(number, SUBMITTERS))
        held = max(held, stage._learners["poem", ENCODER]._buffer.words_held)

    assert held == 24
    assert len(log_of(redis_client).evidence()) == 32
