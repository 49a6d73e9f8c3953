"""Every experiment is gone through without a call, which is how its calls are estimated beforehand."""

from __future__ import annotations

from pathlib import Path

import pytest

from memshare.evaluation.data import DataItem, Split
from memshare.evaluation.evaluate import conduct, prepare
from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.experiments.bias import DRAWS
from memshare.evaluation.folder import Prepared
from memshare.evaluation.lab import Lab
from memshare.evaluation.queues import ExperimentTask
from memshare.evaluation.rehearsal import Rehearsal, rehearse
from memshare.evaluation.request import ExperimentRequest
from memshare_agents.roster import load_roster
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Usage
from tests.support.sub_questions import agents_with_sub_questions

SEEDS, QUERIES, TEST = 4, 8, 8


def items(part: str, many: int, *, asked: bool) -> tuple[DataItem, ...]:
    return tuple(
        DataItem(
            id=f"{part} {number}",
            agent="logic",
            kind="riddle",
            prompt=f"{part} {number}?" if asked else None,
            answer=f"{part} {number}!",
        )
        for number in range(many)
    )


def request(name: str, out: Path, *, models: tuple[str, ...] = ("one", "two"), asked: bool = True) -> ExperimentRequest:
    parts = Split(*(items(part, many, asked=asked) for part, many in zip("sqt", (SEEDS, QUERIES, TEST), strict=True)))
    return ExperimentRequest(EXPERIMENTS[name], (), parts, models, 7, out)


def gone_through(wanted: ExperimentRequest, rehearsal: Rehearsal, folder: Path) -> tuple[Lab, dict[str, Prepared]]:
    prepared = prepare(wanted, rehearsal)
    return conduct(wanted, rehearsal, Settings(data=folder), prepared), prepared


def rehearsal_of(folder: Path, votes: int = 1, agents: Path | None = None) -> Rehearsal:
    settings = Settings(
        data=folder,
        model_scorer="judge",
        model_trainer="teacher",
        scorer_votes=votes,
        tries=2,
        model="offline",
    )
    return Rehearsal(settings, load_roster(agents))


@pytest.mark.parametrize(
    ("name", "answers", "lessons"),
    [
        ("memories", QUERIES + 4 * TEST, SEEDS + QUERIES),
        # By people, by each of two models, and by both together; the seeds of the pool that they write with are one's.
        ("heterologous", QUERIES + 5 * TEST, SEEDS / 2 + 2 * QUERIES),
        # Half of the queries are written for, and each model reads its own, the other's, and both in turn.
        ("balance", QUERIES + 5 * TEST, SEEDS / 2 + 3 * QUERIES / 2),
        ("growth", QUERIES + 6 * TEST, SEEDS + QUERIES),
        ("bias", QUERIES + 6 * TEST, SEEDS + QUERIES),
        ("growth-ms", QUERIES + 6 * TEST, SEEDS + QUERIES),
        # A pool by the domains' rubrics, the same integrated, and one by one rubric, for which all is graded again.
        ("pools", QUERIES + 4 * TEST, 3 * (SEEDS + QUERIES)),
        ("retriever", QUERIES + 4 * TEST, QUERIES),
        ("credibility", 5 * QUERIES + 5 * TEST, 5 * QUERIES),
        ("knowledge", 4 * TEST, 0),
    ],
)
def test_each_model_answers_as_often_as_the_experiment_says(
    name: str, answers: int, lessons: float, tmp_path: Path
) -> None:
    rehearsal = rehearsal_of(tmp_path, votes=3)

    lab, _ = gone_through(request(name, tmp_path), rehearsal, tmp_path)

    assert {model: rehearsal.calls[model] for model in ("one", "two")} == {"one": answers, "two": answers}
    spoiled = 3 * DRAWS if name == "bias" else 0
    assert rehearsal.calls["judge"] >= 3 * (2 * answers + SEEDS + spoiled)
    assert len(lab.measured) == 2 * (answers - {"knowledge": 0, "credibility": 5 * QUERIES}.get(name, QUERIES))
    assert len(lab.split.all) == SEEDS + QUERIES + TEST
    assert rehearsal.calls["teacher"] == 2 * lessons


def test_tokens_are_told_beforehand_by_the_texts_of_the_data(tmp_path: Path) -> None:
    short, long = rehearsal_of(tmp_path), rehearsal_of(tmp_path)
    tale = [one.model_copy(update={"answer": "x" * 4_000}) for one in items("q", 2, asked=True)]

    short.ask("one", [ExperimentTask(one, "logic", "one", 0) for one in items("q", 2, asked=True)])
    long.ask("one", [ExperimentTask(one, "logic", "one", 3, remember=True) for one in tale])

    assert short.usual["one"].prompt_tokens < 2 * 250
    assert 2 * 4_000 < long.usual["one"].prompt_tokens < 2 * 5_000
    assert 2 * 1_000 < long.usual["one"].completion_tokens < 2 * 1_100
    assert short.usual["teacher"] == Usage()
    assert long.usual["teacher"].prompt_tokens > 2 * 1_500


def test_without_learning_nobody_labels_and_everything_is_asked_all_the_same(tmp_path: Path) -> None:
    with_lessons, without = rehearsal_of(tmp_path), rehearsal_of(tmp_path)

    gone_through(request("growth", tmp_path), with_lessons, tmp_path)
    gone_through(request("growth", tmp_path)._replace(learning=False), without, tmp_path)

    assert without.calls["teacher"] == 0 < with_lessons.calls["teacher"]
    assert without.calls["one"] == with_lessons.calls["one"]


def test_a_run_of_the_engine_counts_half_the_calls_that_it_may_make_more(tmp_path: Path) -> None:
    rehearsal, roster = rehearsal_of(tmp_path), load_roster(None)
    item = DataItem(id="1", agent="reasoning", kind=None, prompt="Why?", answer="So.")

    rehearsal.ask(
        "one",
        [
            ExperimentTask(item, "reasoning-own-0", "one", 3),
            ExperimentTask(item, "reasoning-own-0", "one", 3, engine=False),
        ],
    )

    assert rehearsal.calls["one"] == roster["reasoning"].limits.calls // 2 + 2


def test_the_estimate_counts_the_sub_questions_that_may_be_graded_and_learnt_from(tmp_path: Path) -> None:
    item = DataItem(id="1", agent="reasoning", kind=None, prompt="Why?", answer="So.")
    task = ExperimentTask(item, "reasoning-own-0", "one", 3, remember=True)
    without, with_three = rehearsal_of(tmp_path), rehearsal_of(tmp_path, agents=agents_with_sub_questions(tmp_path, 3))

    for rehearsal in (without, with_three):
        rehearsal.ask("one", [task])

    assert with_three.calls["judge"] == 4 * without.calls["judge"]
    assert with_three.calls["teacher"] == 4 * without.calls["teacher"]
    assert with_three.tasks == without.tasks == 1


def test_questions_that_are_not_there_are_asked_for_once_for_all_models(tmp_path: Path) -> None:
    rehearsal = rehearsal_of(tmp_path)

    gone_through(request("memories", tmp_path, asked=False), rehearsal, tmp_path)

    everything = SEEDS + QUERIES + TEST
    assert rehearsal.calls["one"] == QUERIES + 4 * TEST + everything
    assert rehearsal.tasks == 2 * (QUERIES + 4 * TEST + SEEDS + QUERIES) + everything


def test_what_was_prepared_before_is_not_asked_for_again(tmp_path: Path) -> None:
    first, second = rehearsal_of(tmp_path), rehearsal_of(tmp_path)
    wanted = request("memories", tmp_path, asked=False)

    _, prepared = gone_through(wanted, first, tmp_path)
    conduct(wanted, second, Settings(data=tmp_path), prepared)

    assert second.calls["one"] == QUERIES + 4 * TEST


def test_a_second_judge_is_asked_for_every_answer_to_the_test_set(tmp_path: Path) -> None:
    wanted = request("memories", tmp_path)._replace(judge="other")

    [rehearsal] = rehearse([wanted], Settings(data=tmp_path, model="offline", tries=2))

    assert rehearsal.calls["other"] == 2 * 4 * TEST
