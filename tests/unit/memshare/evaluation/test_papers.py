"""Papers are named on the command line, and their tables are experiments."""

from __future__ import annotations

import pytest

from memshare.cli.learn.evaluate import run
from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.report import PAPERS, paper_named
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_llm.limits.budget import SHIPPED


@pytest.mark.parametrize(
    ("names", "said"),
    [([], "Which paper"), (["nature"], "'nature'.* inms"), (["concepts"], r"benchmarks\.concepts"), (["ms"], "--data")],
)
def test_what_is_no_paper_or_has_no_data_is_refused_before_anything_is_begun(names: list[str], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        run("paper", files=names)  # type: ignore[arg-type]


def test_a_paper_that_compares_models_says_which_of_its_tables_needs_two() -> None:
    with pytest.raises(BadInput, match="'balance' takes 2 models"):
        run("paper", files=["inms"], models="openai:one")  # type: ignore[list-item]


def test_every_table_of_a_paper_is_an_experiment() -> None:
    assert {name for paper in PAPERS.values() for name in paper.experiments} <= EXPERIMENTS.keys()
    assert [paper_named(name).name for name in PAPERS] == list(PAPERS)


def test_the_prices_that_come_with_memshare_stand_in_only_where_they_have_each_model() -> None:
    from memshare.cli.learn.evaluate import _with_prices

    settings = Settings(model="offline")

    assert _with_prices(settings, {"openai:gpt-4o", "openai:gpt-5-mini"}).prices == SHIPPED
    assert _with_prices(settings, {"openai:gpt-4o", "openai:scripted"}).prices is None
