"""What an experiment will take is said beforehand: every one is gone through with queues that count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memshare.cli.learn.evaluate import _say_cost
from memshare.evaluation.data import DataItem, Split
from memshare.evaluation.evaluate import conduct, prepare
from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.queues import PERFECT
from memshare.evaluation.request import ExperimentRequest, Forecast, forecasts
from memshare_agents.roster import load_roster
from memshare_broker.settings import Settings
from memshare_llm.limits.budget import load_prices
from memshare_trainer.lesson_log import FIRST_VERSION
from tests.support.counted_queues import CountedQueues
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


def expected(wanted: ExperimentRequest, **more: Any) -> Forecast:
    settings = Settings(
        data=wanted.out, model_scorer="openai:judge", model_trainer="openai:teacher", tries=2, model="offline", **more
    )
    [found] = forecasts([wanted], settings)
    return found


@pytest.mark.parametrize(
    "name", [name for name in EXPERIMENTS if EXPERIMENTS[name].bundled is None or name == "knowledge"]
)
def test_each_model_answers_as_often_as_the_experiment_says(name: str, tmp_path: Path) -> None:
    wanted, queues = request(name, tmp_path), CountedQueues()
    said = EXPERIMENTS[name]

    lab = conduct(wanted, queues, Settings(data=tmp_path), prepare(wanted, queues, Settings(data=tmp_path)))

    answers = said.asked.of(wanted.split)
    assert queues.answers == {"one": answers, "two": answers}
    assert queues.settled == 2 * said.settled.of(wanted.split)
    assert queues.remembered == 2 * said.remembered.of(wanted.split)
    assert len(lab.measured) == 2 * round(said.asked.test * TEST)
    assert {one.graded_by for one in lab.measured} == {PERFECT.model}
    assert len(lab.split.all) == SEEDS + QUERIES + TEST
    found = expected(wanted, scorer_votes=3)
    assert {model: found.calls[model] for model in ("one", "two")} == queues.answers
    assert found.calls["openai:judge"] >= 3 * (2 * answers + SEEDS)
    assert found.calls.get("openai:teacher", 0) == queues.settled + queues.remembered


def test_tokens_are_told_beforehand_by_the_texts_of_the_data(tmp_path: Path) -> None:
    wanted = request("memories", tmp_path, models=("one",))
    tales = Split(*(tuple(one.model_copy(update={"answer": "x" * 4_000}) for one in part) for part in wanted.split))

    short, long = expected(wanted), expected(wanted._replace(split=tales))

    calls = short.calls["one"]
    assert short.usual["one"].prompt_tokens < calls * 250
    assert calls * 4_000 < long.usual["one"].prompt_tokens < calls * 5_000
    assert calls * 1_000 < long.usual["one"].completion_tokens < calls * 1_100
    assert long.usual["openai:teacher"].prompt_tokens > long.calls["openai:teacher"] * 1_500


@pytest.mark.parametrize("name", [name for name, one in EXPERIMENTS.items() if one.learns])
def test_the_lessons_of_the_fullest_pool_are_told_beforehand(name: str, tmp_path: Path) -> None:
    wanted, queues = request(name, tmp_path), CountedQueues()

    conduct(wanted, queues, Settings(data=tmp_path), prepare(wanted, queues, Settings(data=tmp_path)))

    settled = max(queues.settled_in.values())
    # Practice settles answers that become no lessons.
    assert max(expected(wanted).lessons.values()) == (settled - QUERIES // 2 if name == "balance" else settled)


def test_what_is_too_small_for_a_retriever_is_said_with_what_it_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = request("memories", tmp_path)

    _say_cost([wanted], [expected(wanted)], load_prices(None))

    assert "memories: too small for a retriever that learns." in " ".join(capsys.readouterr().err.split())


def test_an_experiment_that_is_too_small_for_a_version_of_a_retriever_says_so(tmp_path: Path) -> None:
    wanted = request("memories", tmp_path)
    seeds = items("more", FIRST_VERSION - QUERIES, asked=True)
    poem = tuple(one.model_copy(update={"agent": "poem"}) for one in wanted.split.queries)
    large = wanted.split._replace(seeds=seeds)

    found = expected(wanted).too_small

    assert found is not None
    assert f"before {FIRST_VERSION} lessons" in found
    assert f"of logic ({SEEDS + QUERIES})." in found
    assert expected(wanted._replace(split=large)).too_small is None
    assert expected(wanted._replace(learning=False)).too_small is None
    mixed = expected(wanted._replace(split=large._replace(queries=(*large.queries, *poem)))).too_small
    assert mixed is not None
    assert f"of poem ({QUERIES})." in mixed


def test_without_learning_nobody_labels_and_everything_is_asked_all_the_same(tmp_path: Path) -> None:
    wanted = request("growth", tmp_path)

    with_lessons, without = expected(wanted), expected(wanted._replace(learning=False))

    assert "openai:teacher" not in without.calls
    assert with_lessons.calls["openai:teacher"] > 0
    assert without.calls["one"] == with_lessons.calls["one"]


def with_engine(folder: Path, agents: Path | None = None) -> tuple[ExperimentRequest, Forecast]:
    wanted = request("credibility", folder, models=("one",))
    parts = Split(*(tuple(one.model_copy(update={"agent": "reasoning"}) for one in part) for part in wanted.split))
    return wanted, expected(wanted._replace(split=parts), agents_dir=agents)


def test_a_run_of_the_engine_counts_half_the_calls_that_it_may_make_more(tmp_path: Path) -> None:
    wanted, found = with_engine(tmp_path)

    answers = wanted.experiment.asked.of(wanted.split)
    assert found.calls["one"] == answers * (1 + load_roster(None)["reasoning"].limits.calls // 2)


def test_the_estimate_counts_the_sub_questions_that_may_be_graded_and_learnt_from(tmp_path: Path) -> None:
    wanted, without = with_engine(tmp_path)
    _, with_three = with_engine(tmp_path, agents_with_sub_questions(tmp_path, 3))

    more = 3 * wanted.experiment.remembered.of(wanted.split)
    assert with_three.calls["openai:judge"] == without.calls["openai:judge"] + more
    assert with_three.calls["openai:teacher"] == without.calls["openai:teacher"] + more
    assert with_three.tasks == without.tasks


def test_questions_that_are_not_there_are_asked_for_once_for_all_models_and_experiments(tmp_path: Path) -> None:
    wanted = [request(name, tmp_path, asked=False) for name in ("memories", "growth")]

    first, second = forecasts(wanted, Settings(data=tmp_path, model="offline", tries=2))

    everything = SEEDS + QUERIES + TEST
    assert first.calls["one"] == QUERIES + 4 * TEST + everything
    assert first.tasks == 2 * (QUERIES + 4 * TEST + SEEDS + QUERIES) + everything
    assert second.calls["one"] == QUERIES + 6 * TEST


def test_a_second_judge_is_asked_for_every_answer_to_the_test_set(tmp_path: Path) -> None:
    assert expected(request("memories", tmp_path)._replace(judge="other")).calls["other"] == 2 * 4 * TEST
