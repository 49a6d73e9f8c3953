"""Every experiment is gone through without a call, which is how its calls are counted beforehand."""

from __future__ import annotations

from pathlib import Path

import pytest

from memshare.broker.settings import Settings
from memshare.evaluation.data import Item, Split
from memshare.evaluation.evaluate import conduct, prepare
from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.folder import Prepared
from memshare.evaluation.lab import Lab
from memshare.evaluation.rehearsal import Rehearsal
from memshare.evaluation.request import Request

SEEDS, QUERIES, TEST = 4, 8, 8


def items(part: str, many: int, *, asked: bool) -> tuple[Item, ...]:
    return tuple(
        Item(
            id=f"{part} {number}",
            agent="logic",
            kind="riddle",
            prompt=f"{part} {number}?" if asked else None,
            answer=f"{part} {number}!",
        )
        for number in range(many)
    )


def request(name: str, out: Path, *, models: tuple[str, ...] = ("one", "two"), asked: bool = True) -> Request:
    parts = Split(*(items(part, many, asked=asked) for part, many in zip("sqt", (SEEDS, QUERIES, TEST), strict=True)))
    return Request(EXPERIMENTS[name], (), parts, models, 7, out)


def gone_through(wanted: Request, rehearsal: Rehearsal, folder: Path) -> tuple[Lab, dict[str, Prepared]]:
    prepared = prepare(wanted, rehearsal)
    return conduct(wanted, rehearsal, Settings(data=folder), prepared), prepared


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("memories", QUERIES + 4 * TEST),
        ("heterologous", QUERIES + 4 * TEST),
        ("growth", QUERIES + 6 * TEST),
        ("bias", QUERIES + 6 * TEST),
        ("pools", QUERIES + 3 * TEST),
        ("retriever", QUERIES + 4 * TEST),
        ("credibility", 3 * QUERIES + 5 * TEST),
        ("knowledge", 4 * TEST),
    ],
)
def test_each_model_answers_as_often_as_the_experiment_says(name: str, answers: int, tmp_path: Path) -> None:
    rehearsal = Rehearsal("judge", "teacher", votes=3)

    lab, _ = gone_through(request(name, tmp_path), rehearsal, tmp_path)

    assert {model: rehearsal.calls[model] for model in ("one", "two")} == {"one": answers, "two": answers}
    spoiled = 3 if name == "bias" else 0
    assert rehearsal.calls["judge"] == 3 * (2 * answers + SEEDS + spoiled)
    assert len(lab.measured) == 2 * (answers - {"knowledge": 0, "credibility": 3 * QUERIES}.get(name, QUERIES))
    assert len(lab.split.all) == SEEDS + QUERIES + TEST
    assert rehearsal.calls["teacher"] == (2 * QUERIES if name == "retriever" else 0)


def test_questions_that_are_not_there_are_asked_for_once_for_all_models(tmp_path: Path) -> None:
    rehearsal = Rehearsal("judge", "teacher", votes=1)

    gone_through(request("memories", tmp_path, asked=False), rehearsal, tmp_path)

    everything = SEEDS + QUERIES + TEST
    assert rehearsal.calls["one"] == QUERIES + 4 * TEST + everything
    assert rehearsal.calls["judge"] == 2 * (QUERIES + 4 * TEST) + everything


def test_what_was_prepared_before_is_not_asked_for_again(tmp_path: Path) -> None:
    first, second = Rehearsal("judge", "teacher", votes=1), Rehearsal("judge", "teacher", votes=1)
    wanted = request("memories", tmp_path, asked=False)

    _, prepared = gone_through(wanted, first, tmp_path)
    conduct(wanted, second, Settings(data=tmp_path), prepared)

    assert second.calls["one"] == QUERIES + 4 * TEST
