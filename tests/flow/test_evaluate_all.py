"""`memshare evaluate all`, where no reply of the model fits at once, and some experiments have ended before."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.folder import Folder
from memshare.evaluation.request import Forecast, forecasts, plan_of, request_of
from memshare_broker.presence import agent_files
from memshare_broker.settings import Settings
from tests.support.chat_script import Answer
from tests.support.chat_server import ChatServer, serving
from tests.support.evaluate_process import WITHIN, command, consistent, data_in, ended_with, number_of
from tests.support.experiments import result_of

pytestmark = pytest.mark.timeout(1_200)

MODEL, JUDGE = "openai:scripted", "openai:judge"
OPTIONS = ("--items", "5", "--judge", JUDGE)
MORE = {"MEMSHARE_TRIES": "1", "MEMSHARE_LABELS": "logprobs"}
"""With more tries, what is announced is six times as much."""
ENDED_BEFORE = ("memories", "heterologous", "balance", "growth", "bias", "credibility", "facts")
"""Experiments of which every step on real queues is one of another that runs here, and `memories` and `balance`, which
run in `test_evaluate`. They are gone through without a call, as all are."""
AGENTS = "agents"
STEPS = 4
"""Of the engine, which no reply of this model lets end before its limit."""


def grumpy(body: dict[str, Any]) -> Answer:
    """The same, but no reply fits at once, so that each question with a form is asked twice; and it tells the
    probabilities of its tokens, which makes a call of each label."""
    if body.get("logprobs"):
        share = 0.01 + 0.98 * number_of(body["messages"][-1]["content"])
        return Answer("Yes", logprobs={"Yes": math.log(share), "No": math.log(1 - share)})
    if (body.get("response_format") or {}).get("type") != "json_schema":
        return consistent(body)
    if "does not fit the schema" not in body["messages"][-1]["content"]:
        return Answer("{}")
    return consistent(body | {"messages": body["messages"][:-2]})


def run(chat: ChatServer, folder: Path, *words: str, what: str, within: float) -> tuple[list[dict[str, Any]], str]:
    """The results that a command found, and what it said beside them."""
    agents = {"MEMSHARE_AGENTS_DIR": str(folder / AGENTS)}
    process = command(chat, folder, "out", MODEL, *words, *OPTIONS, what=what, **MORE, **agents)
    found, said = ended_with(process, within)
    assert process.returncode == 0, said
    return [json.loads(line) for line in found.splitlines()], said


@dataclass(frozen=True)
class Ended:
    """A run of all experiments: where it is, what it found, what was announced, and the calls that each model got."""

    folder: Path
    results: dict[str, dict[str, Any]]
    announced: dict[str, Forecast]
    made: Counter[str]

    def calls(self, experiment: str) -> dict[str, int]:
        run: dict[str, Any] = json.loads((self.folder / "out" / experiment / "run.json").read_text())
        return dict(run["calls"])

    def overall(self, experiment: str) -> list[dict[str, Any]]:
        """The rows of all kinds together."""
        return [row for row in self.results[experiment]["rows"] if row["kind"] == "all"]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory, exports: Path) -> Ended:  # noqa: ARG001
    folder = tmp_path_factory.mktemp("all")
    bundled = agent_files(None)["reasoning"].read_text(encoding="utf-8")
    (folder / AGENTS).mkdir()
    (folder / AGENTS / "reasoning.toml").write_text(bundled.replace("\n[limits]\n", f"\n[limits]\nsteps = {STEPS}\n"))
    settings = Settings(model=MODEL, tries=1, labels="logprobs", agents_dir=folder / AGENTS)
    data = data_in(folder)
    requests = [
        request_of(
            one, [] if one.bundled and not one.bundled.split else [data], settings, 7, 5,
            models=(MODEL,), out=folder / "out", judge=JUDGE,
        )
        for one in EXPERIMENTS.values()
    ]  # fmt: skip
    announced = dict(zip(EXPERIMENTS, forecasts(requests, settings), strict=True))
    for request in requests:
        if (name := request.experiment.name) in ENDED_BEFORE:
            before = Folder(request.out / name)
            before.begin(plan_of(request, settings))
            (before.path / "items.jsonl").touch()
            (before.path / "result.json").write_text(result_of([], experiment=name).model_dump_json())
    with serving(grumpy) as chat:
        results, _ = run(chat, folder, what="all", within=2 * WITHIN)
        made = Counter(f"openai:{body['model']}" for body in chat.requests)
    return Ended(folder, {one["experiment"]: one for one in results}, announced, made)


def test_all_experiments_end_within_the_calls_that_were_announced_also_where_no_reply_fits_at_once(
    ended: Ended,
) -> None:
    assert list(ended.results) == list(EXPERIMENTS)
    measured = [name for name in EXPERIMENTS if name not in ENDED_BEFORE]
    for name in measured:
        assert ended.overall(name), name
        assert all(row["judge"] for row in ended.results[name]["rows"])
        assert ended.calls(name).keys() <= ended.announced[name].calls.keys(), name
    assert ended.made == sum((Counter(ended.calls(name)) for name in measured), Counter())
    assert ended.made[MODEL] > sum(ended.announced[name].tasks for name in measured)


def test_what_changes_over_an_experiment_has_a_row_each_time(ended: Ended) -> None:
    assert [row["phase"] for row in ended.overall("growth-ms")] == ["", "20 %", "40 %", "60 %", "80 %", "100 %"]
    assert [row["condition"] for row in ended.overall("knowledge")] == ["0 memories", "added", "changed", "deleted"]
    assert ended.overall("pools")[-1]["condition"] == "one integrated pool, one rubric"


def test_all_tables_of_a_paper_are_one_page_and_what_was_measured_is_not_paid_for_again(ended: Ended) -> None:
    with serving(grumpy) as chat:
        found, said = run(chat, ended.folder, "ms", what="paper", within=WITHIN)

        assert chat.requests == []
    assert [one["experiment"] for one in found] == ["memories", "growth-ms", "pools"]
    assert "tokens of prompts" not in said
    page = (ended.folder / "out" / "ms.html").read_text()
    assert "Three memories are best." in page
    assert "not finished" not in page
