"""Papers are named on the command line, and their tables are experiments."""

from __future__ import annotations

from pathlib import Path

import pytest

from memshare.cli.learn.evaluate import _say_paper, run
from memshare.evaluation.evaluate import conduct, prepare
from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.papers import PAPERS, Table, beside, paper_named
from memshare.evaluation.request import request_of
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_llm.limits.budget import SHIPPED
from tests.support.counted_queues import CountedQueues
from tests.support.experiments import cell, result_of


@pytest.mark.parametrize(
    ("names", "said"),
    [([], "Which paper"), (["nature"], "'nature'.* inms"), (["concepts"], r"benchmarks\.concepts"), (["ms"], "--data")],
)
def test_what_is_no_paper_or_has_no_data_is_refused_before_anything_is_begun(names: list[str], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        run("paper", files=names)  # type: ignore[arg-type]


def test_a_paper_that_compares_models_says_which_of_its_tables_needs_two() -> None:
    with pytest.raises(BadInput, match="'balance' takes 2 models"):
        run("paper", files=["inms"], models="openai:one,openai:one")  # type: ignore[list-item]


def test_every_table_of_a_paper_is_an_experiment() -> None:
    assert {name for paper in PAPERS.values() for name in paper.experiments} <= EXPERIMENTS.keys()
    assert [paper_named(name).name for name in PAPERS] == list(PAPERS)


def test_every_table_says_what_the_paper_found() -> None:
    for paper in PAPERS.values():
        assert all(table.said.endswith(".") for table in paper.tables), paper.name


def test_the_figures_of_a_paper_stand_above_ours_where_both_count_the_same() -> None:
    tables = {table.experiment: table.figures for table in PAPERS["dynamind"].tables}
    counted = [("one call", 0.25), ("one call with passages", 0.5), ("engine", 0.75)]
    measured = [
        one for condition, share in counted for one in cell(condition, (80, 90), marks={"says the answer": share})
    ]
    result = result_of(measured, experiment="complex")

    assert tables["complex"] is not None
    heads, rows = beside(tables["complex"], result)

    assert heads == ["%", "basic", "DynaMind"]
    assert ["GPT-4 (paper)", "16.0", "92.5"] in rows
    assert rows[-1] == ["openai:one (here)", "25.0", "75.0"]
    assert beside(tables["complex"], None)[1] == rows[:-1]
    assert tables["contradictions"] is not None
    assert beside(tables["contradictions"], result)[1][-1] == ["Llama-30B (paper)", "23.0", "42.5"]


def test_a_papers_finding_and_figures_are_printed_below_an_experiments_own(capsys: pytest.CaptureFixture[str]) -> None:
    measured = [*cell("one call", (50, 60), marks={"says the answer": 0.25})]

    _say_paper(PAPERS["dynamind"], result_of(measured, experiment="complex"))

    shown = " ".join(capsys.readouterr().out.split())
    assert "The paper (arXiv 2310.14248): Right answers to 200 of ComplexWebQuestions" in shown
    assert "Table 2 of the paper, and here" in shown
    assert "GPT-4 (paper) 16.0 92.5" in shown
    assert "openai:one (here) 25.0 –" in shown
    assert "Table 3" not in shown


@pytest.mark.parametrize(
    "table", [table for table in PAPERS["dynamind"].tables if table.figures and table.figures.ours]
)
def test_what_stands_beside_a_papers_figures_is_what_the_experiment_counts(table: Table, tmp_path: Path) -> None:
    settings, queues = Settings(data=tmp_path, model="offline"), CountedQueues()
    wanted = request_of(EXPERIMENTS[table.experiment], [], settings, 7, None, models=("offline",), out=tmp_path)

    lab = conduct(wanted, queues, settings, prepare(wanted, queues, settings))

    assert table.figures is not None
    assert {(*place, mark) for *place, mark in table.figures.ours} <= {
        (one.condition, one.phase, mark) for one in lab.measured for mark in one.marks
    }


def test_the_prices_that_come_with_memshare_stand_in_only_where_they_have_each_model() -> None:
    from memshare.cli.learn.evaluate import _with_prices

    settings = Settings(model="offline")

    assert _with_prices(settings, {"openai:gpt-4o", "openai:gpt-5-mini"}).prices == SHIPPED
    assert _with_prices(settings, {"openai:gpt-4o", "openai:scripted"}).prices is None
