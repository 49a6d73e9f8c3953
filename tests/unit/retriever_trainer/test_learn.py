from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
import redis

from memshare_broker.delivery.hops import COMPARE, NOTE_COMPARED
from memshare_broker.errors import BadInput, GiveUp, TryAgain
from memshare_broker.observe.metrics import read_field
from memshare_broker.wire.lessons import ComparedPairs, CompareTask, Lesson, LessonTask, Said
from memshare_llm.models import NoModel
from memshare_llm.structured import NeverFits
from memshare_memory.belief.trust import retriever_key
from memshare_memory.recall.retriever import Adapter, Retriever
from memshare_trainer import lesson_log
from memshare_trainer.labels import Labeller, Labels
from memshare_trainer.learn import LearnStage
from memshare_trainer.lesson_log import LessonLog
from memshare_trainer.rewriting import roll_back
from tests.support.judge import LabelsByAnswer
from tests.support.lessons import DIMENSION, ENCODER, FormLabeller, helps, lesson, make_worse
from tests.support.scripted_chat import ScriptedChat
from tests.support.word_encoder import WordEncoder


@pytest.fixture
def labeller() -> FormLabeller:
    return FormLabeller()


def trainer(client: redis.Redis, labeller: FormLabeller, kept: int = 200) -> LearnStage:
    """A trainer process, as far as the log can tell."""
    return LearnStage(client, labeller, kept=kept, keep_days=1)  # type: ignore[arg-type]


@pytest.fixture
def learn(redis_client: redis.Redis, labeller: FormLabeller) -> LearnStage:
    return trainer(redis_client, labeller)


@pytest.fixture
def log(redis_client: redis.Redis) -> LessonLog:
    return LessonLog(redis_client, "poem", ENCODER, kept=200, keep_days=1)


def teach(learn: LearnStage, task: LessonTask) -> Lesson:
    record = learn.run(task.journey, task).record
    assert isinstance(record, Lesson)
    return record


def numbers(log: LessonLog) -> list[int]:
    return sorted(one.number for one in (*log.lessons(), *log.held_out()))


def test_versions_come_with_the_lessons_and_rank_better_than_the_untrained_retriever(
    learn: LearnStage, log: LessonLog
) -> None:
    records = [teach(learn, lesson(number)) for number in range(80)]

    assert [record.outcome for record in records[:10]] == ["learnt"] * 9 + ["held out"]
    versions = [record.version for record in records if record.version]
    assert versions == list(range(1, len(versions) + 1))
    assert all(record.version is None for record in records[:29])  # too few held-out lessons to check one
    first, last = log.published(log.versions()[0]), log.published(versions[-1])
    assert last is not None
    assert first is not None
    assert true_accuracy(last.adapter()) >= true_accuracy(first.adapter()) > true_accuracy(Adapter()) + 0.05
    assert (last.encoder, last.dimension) == (ENCODER, DIMENSION)
    assert records[last.lessons - 1].version == last.version


def test_the_agents_retriever_takes_over_what_was_published(learn: LearnStage, redis_client: redis.Redis) -> None:
    encoder = WordEncoder(ENCODER)
    encoder.dimension = DIMENSION  # type: ignore[misc]
    retriever = Retriever(redis_client, encoder)
    assert retriever.adapter("poem").version == 0

    records = [teach(learn, lesson(number)) for number in range(40)]

    assert retriever.adapter("poem").version == max(record.version or 0 for record in records) > 0


def test_one_lesson_in_ten_is_held_out_for_good(learn: LearnStage, log: LessonLog) -> None:
    for number in range(40):
        teach(learn, lesson(number))

    assert [one.number for one in log.held_out()] == [10, 20, 30, 40]
    assert not {one.number for one in log.lessons()} & {10, 20, 30, 40}
    assert numbers(log) == list(range(1, 41))


def test_a_message_that_comes_twice_is_labelled_and_counted_once(
    learn: LearnStage, labeller: FormLabeller, log: LessonLog
) -> None:
    first = teach(learn, lesson(1))

    assert teach(learn, lesson(1)) == first
    assert log.head().counted == 1
    assert len(labeller.asked) == 1


def test_that_a_lesson_was_done_is_known_for_as_long_as_its_journey(
    learn: LearnStage, redis_client: redis.Redis
) -> None:
    task = lesson(0)
    teach(learn, task)

    [marker] = redis_client.scan_iter("memshare:lesson:*")
    assert 86_000 < redis_client.ttl(marker) <= 86_400


def test_without_something_to_tell_apart_there_is_no_update_and_it_says_so(
    redis_client: redis.Redis, log: LessonLog
) -> None:
    class Unsure(FormLabeller):
        def label(self, task: LessonTask) -> Labels:
            return super().label(task)._replace(values=tuple(0.2 for _ in task.candidates))

    outcome = trainer(redis_client, Unsure()).run(lesson(1).journey, lesson(1))

    record = outcome.record
    assert isinstance(record, Lesson)
    assert [read_field(sample.field)[0] for sample in outcome.counted] == ["memshare_lessons_total"]
    assert record.outcome == "no update"
    assert record.reason == "8 of 8 candidates help and 0 mislead: none is better than another"
    assert (log.head().counted, log.counts()["no update"]) == (0, 1)


def test_labels_that_do_not_fit_or_are_refused_by_a_content_filter_are_no_update_and_other_troubles_are_tried_again(
    redis_client: redis.Redis,
) -> None:
    class Broken(FormLabeller):
        def __init__(self, error: Exception) -> None:
            super().__init__()
            self.error = error

        def label(self, task: LessonTask) -> Labels:  # noqa: ARG002
            raise self.error

    record = teach(trainer(redis_client, Broken(NeverFits("It did not fit.", "invalid reply"))), lesson(1))
    assert (record.outcome, record.reason) == ("no update", "there are no labels: It did not fit.")
    filtered = trainer(redis_client, Broken(GiveUp("The filter stopped it.", "content filter"))).run("2", lesson(2))
    assert str(filtered.goes_without) == "The filter stopped it."
    record = filtered.record
    assert isinstance(record, Lesson)
    assert (record.outcome, record.reason) == ("no update", "there are no labels: The filter stopped it.")

    with pytest.raises(TryAgain, match="busy"):
        teach(trainer(redis_client, Broken(TryAgain("The model is busy."))), lesson(3))


def test_lessons_with_inverted_labels_do_not_make_the_published_version_worse(
    learn: LearnStage, labeller: FormLabeller, log: LessonLog
) -> None:
    for number in range(100):
        teach(learn, lesson(number))
    good = log.published(log.head().version)
    assert good is not None

    labeller.inverted = True
    for number in range(100, 150):
        teach(learn, lesson(number))

    left = log.published(log.head().version)
    assert left is not None
    assert true_accuracy(left.adapter()) >= true_accuracy(good.adapter()) - 0.02


def test_an_update_that_ranks_what_is_held_out_worse_for_sure_is_refused_and_the_version_stays(
    learn: LearnStage, log: LessonLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_worse(monkeypatch, 40)
    records = [teach(learn, lesson(number)) for number in range(60)]

    refused = [record for record in records if record.refused]
    assert len(refused) == 18, "all but the two that are held out"
    assert all("would fall from" in record.reason and record.version is None for record in refused)
    assert log.head().version == log.head().issued == sum(record.version is not None for record in records)
    assert log.counts()["refused"] == len(refused)


def test_every_lesson_is_counted_and_those_that_are_refused_too(
    learn: LearnStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_worse(monkeypatch, 60)
    outcomes = [learn.run(task.journey, task) for task in map(lesson, range(100))]

    names = Counter(read_field(sample.field)[0] for outcome in outcomes for sample in outcome.counted)
    refused = sum(outcome.record.refused for outcome in outcomes)
    assert refused > 0
    assert names == {
        "memshare_lessons_total": 100,
        "memshare_last_lesson_timestamp_seconds": 100,
        "memshare_retriever_refused_total": refused,
    }
    assert Counter(outcome.ended for outcome in outcomes)["held out"] == 10


def true_accuracy(adapter: Adapter) -> float:
    """How often what is ranked first helps, in lessons that nobody has seen."""
    right = []
    for task in map(lesson, range(1000, 1060)):
        rows = np.stack([one.embedding.unpack() for one in task.candidates])
        found = adapter.scores(task.embedding.unpack(), rows, [one.submitter for one in task.candidates])
        right.append(helps(task.candidates[int(found.argmax())], task))
    return float(np.mean(right))


def test_a_trainer_goes_on_exactly_where_another_one_ended(
    redis_client: redis.Redis, labeller: FormLabeller, log: LessonLog
) -> None:
    alone = trainer(redis_client, labeller)
    for number in range(47):
        teach(alone, lesson(number))
    expected = teach(alone, lesson(47))
    weights = log.published(log.head().version)
    redis_client.flushall()

    for start in range(0, 48, 6):  # a trainer that is killed after every six lessons
        later = trainer(redis_client, labeller)
        last = [teach(later, lesson(number)) for number in range(start, start + 6)][-1]

    assert last == expected
    again = log.published(log.head().version)
    assert again is not None
    assert weights is not None
    assert again.unpack() == pytest.approx(weights.unpack(), abs=1e-3)


def test_two_trainers_of_one_pool_take_turns_and_count_every_lesson_once(
    redis_client: redis.Redis, labeller: FormLabeller, log: LessonLog
) -> None:
    trainers = [trainer(redis_client, labeller), trainer(redis_client, labeller)]
    tasks = [lesson(number) for number in range(60)]

    with ThreadPoolExecutor(8) as threads:
        records = list(threads.map(lambda one: teach(trainers[one[0] % 2], one[1]), enumerate(tasks)))

    assert numbers(log) == list(range(1, 61))
    assert {one.memory_id for one in (*log.lessons(), *log.held_out())} == {task.memory_id for task in tasks}
    versions = sorted(record.version for record in records if record.version)
    assert versions == list(range(1, log.head().issued + 1))
    assert len(versions) > 3


def test_a_trainer_whose_lease_has_passed_to_another_one_writes_nothing_of_what_it_held(
    redis_client: redis.Redis, labeller: FormLabeller, log: LessonLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen, other = trainer(redis_client, labeller), trainer(redis_client, labeller)
    teach(frozen, lesson(0))
    real = LessonLog.lease
    woken = []

    @contextmanager
    def stopped_for_longer_than_the_lease(self: LessonLog) -> Iterator[int]:
        with real(self) as fence:
            if not woken:
                woken.append(fence)
                redis_client.delete(self.key("lease"))
                teach(other, lesson(1))
            yield fence

    monkeypatch.setattr(LessonLog, "lease", stopped_for_longer_than_the_lease)
    teach(frozen, lesson(2))

    assert woken
    assert numbers(log) == [1, 2, 3]
    assert len({one.memory_id for one in log.lessons()}) == 3


def test_a_pool_learns_for_itself_alone(learn: LearnStage, redis_client: redis.Redis) -> None:
    for number in range(35):
        teach(learn, lesson(number))
    teach(learn, lesson(99, pool="logic"))

    logs = {pool: LessonLog(redis_client, pool, ENCODER, kept=200, keep_days=1) for pool in ("poem", "logic", "plan")}
    assert {pool: log.head().counted for pool, log in logs.items()} == {"poem": 35, "logic": 1, "plan": 0}
    assert logs["logic"].head().version == 0


def test_old_versions_are_thinned_out(learn: LearnStage, log: LessonLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson_log, "EVERY_VERSION", 5)
    for number in range(70):
        teach(learn, lesson(number))

    newest = log.head().issued
    assert newest > 15
    assert log.versions() == [*range(5, newest - 9, 5), *range(newest - 9, newest + 1)]
    assert all(log.published(version) for version in log.versions())
    assert log.published(1) is None


def test_a_rollback_puts_an_earlier_version_back_and_learning_goes_on_from_it(
    learn: LearnStage, labeller: FormLabeller, log: LessonLog, redis_client: redis.Redis
) -> None:
    for number in range(60):
        teach(learn, lesson(number))
    newest, target = log.head().version, log.versions()[0]
    kept = log.published(target)
    assert kept is not None

    done = roll_back(log, target)

    assert (done.before, done.version, done.set_aside) == (newest, target, 60 - kept.lessons)
    assert log.head().version == target
    assert max(numbers(log)) <= kept.lessons
    for one in (learn, trainer(redis_client, labeller)):
        record = teach(one, lesson(log.head().counted))
        assert record.version is None or record.version > newest  # no number is used twice
    assert log.head().counted == 62


def test_a_rollback_without_a_number_goes_one_version_back(learn: LearnStage, log: LessonLog) -> None:
    with pytest.raises(BadInput, match="has no earlier version"):
        roll_back(log, None)
    for number in range(40):
        teach(learn, lesson(number))
    versions = [0, *log.versions()]

    assert roll_back(log, None).version == versions[-2]
    assert roll_back(log, None).version == versions[-3]
    with pytest.raises(BadInput, match=r"no retriever version 999\. There are: 0, 1"):
        roll_back(log, 999)
    assert roll_back(log, 0).version == 0
    assert numbers(log) == []


def test_going_back_to_nothing_and_forward_again_loses_no_lesson_and_learning_goes_on(
    learn: LearnStage, log: LessonLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        teach(learn, lesson(number))
    with monkeypatch.context() as patched:
        make_worse(patched, 50)
        for number in range(50, 55):  # learnt, and published no more
            teach(learn, lesson(number))
    newest, untrained = log.head().version, true_accuracy(Adapter())
    before = log.published(newest)
    assert before is not None
    assert before.lessons < 55

    back = roll_back(log, 0)
    later = teach(learn, lesson(55))
    forward = roll_back(log, newest)

    assert (back.set_aside, forward.brought_back) == (55, 55)
    assert numbers(log) == list(range(1, 57))
    assert log.set_aside() == []
    assert later.version is None
    assert (log.head().version, log.published(newest)) == (newest, before)
    for number in range(56, 70):
        teach(learn, lesson(number))
    assert log.head().version > newest
    goes_on = log.published(log.head().version)
    assert goes_on is not None
    assert true_accuracy(goes_on.adapter()) >= true_accuracy(before.adapter()) > untrained


def test_going_forward_to_a_version_that_is_not_the_newest_leaves_aside_what_came_after_it(
    learn: LearnStage, log: LessonLog
) -> None:
    for number in range(45):
        teach(learn, lesson(number))
    middle = log.versions()[-3]
    kept = log.published(middle)
    assert kept is not None
    roll_back(log, 0)

    done = roll_back(log, middle)

    assert done.brought_back == kept.lessons
    assert numbers(log) == list(range(1, kept.lessons + 1))
    assert len(log.set_aside()) == 45 - kept.lessons


def test_without_a_model_there_are_no_labels(redis_client: redis.Redis, log: LessonLog) -> None:
    learn = LearnStage(redis_client, Labeller(NoModel()), kept=200, keep_days=1)

    record = teach(learn, lesson(0))

    assert (record.outcome, record.positives, record.labelled_by) == ("no update", 0, None)
    assert "There is no chat model" in record.reason
    assert numbers(log) == []


def with_rival(number: int) -> LessonTask:
    task = lesson(number)
    return task.model_copy(update={"rivals": (task.candidates[0].id,)})


def test_what_labels_say_of_rivals_is_sent_to_the_memory_service_and_in_the_record(redis_client: redis.Redis) -> None:
    task = with_rival(1)
    chat = LabelsByAnswer(lambda _answer: 10, {"claims": "Two days.", "contradicts": True})
    stage = LearnStage(redis_client, Labeller(chat), kept=200, keep_days=1)

    outcomes = [stage.run(task.journey, task) for _ in range(2)]

    assert task.memory_id is not None
    for outcome in outcomes:
        assert isinstance(outcome.record, Lesson)
        assert outcome.record.compared is not None
        assert outcome.record.compared.contradicted == {task.rivals[0]: "Two days."}
        [sent] = outcome.followings
        assert sent.hop is NOTE_COMPARED
        texts = [(task.memory_id, task.prompt, task.answer)]
        texts += [(one.id, one.prompt, one.answer) for one in task.candidates if one.id in task.rivals]
        said = {one[0]: Said.of(*one).digest for one in texts}
        assert sent.body == ComparedPairs(
            journey=task.journey, pool="poem", compared=outcome.record.compared, others=task.rivals, said=said
        )


def test_where_the_labels_say_nothing_of_rivals_the_scorer_is_asked(
    learn: LearnStage, redis_client: redis.Redis
) -> None:
    task = with_rival(1)
    without_labels = LearnStage(redis_client, Labeller(ScriptedChat("no", "no")), kept=200, keep_days=1)
    other = with_rival(2)

    for outcome, of in ((learn.run(task.journey, task), task), (without_labels.run(other.journey, other), other)):
        [following] = outcome.followings
        assert following.hop is COMPARE
        assert isinstance(following.body, CompareTask)
        assert (following.body.memory.id, [one.id for one in following.body.others]) == (of.memory_id, [*of.rivals])


def test_calls_in_a_row_that_taught_nothing_are_counted(redis_client: redis.Redis) -> None:
    def all_help(number: int) -> None:
        chat = LabelsByAnswer(lambda _answer: 10)
        LearnStage(redis_client, Labeller(chat), kept=200, keep_days=1).run(f"journey-{number}", lesson(number))

    key = retriever_key("poem", ENCODER, "in_vain")
    for number in range(3):
        all_help(number)
    in_vain = redis_client.get(key)
    teach(trainer(redis_client, FormLabeller()), lesson(9))

    assert (in_vain, redis_client.get(key)) == ("3", None)
