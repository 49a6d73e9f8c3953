"""The reasoning agent on a model that plans by rule and quotes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memshare_agents.reasoning.engine import Engine, EngineRun
from tests.support.inventing_model.chat import InventingChat
from tests.support.shelf import sources

MakeEngine = Callable[..., Engine]

PAGES = {
    "mill.html": "The water mill of Larkfield was built in 1841 by Ada Korn. It has one wheel. The baker is next door.",
    "korn.html": "Ada Korn was born in Ulm. She went abroad at twenty. Her father built bridges.",
    "sea.html": "Seals rest on the skerries of Larkfield. They have their pups in October.",
}


def run(make_engine: MakeEngine, question: str, pages: dict[str, str] | None = None, **limits: float) -> EngineRun:
    return make_engine(InventingChat(), sources(PAGES if pages is None else pages), **limits).run(question, "Answer.")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who built the water mill of Larkfield?", "built in 1841 by Ada Korn."),
        ("Where was Ada Korn born?", "Ada Korn was born in Ulm."),
        ("When do seals have their pups?", "They have their pups in October."),
    ],
)
def test_it_quotes_the_page_that_answers_and_verifies_it(make_engine: MakeEngine, question: str, answer: str) -> None:
    found = run(make_engine, question)

    assert found.verified
    assert found.proposal is not None
    assert answer in found.proposal.answer
    assert {step.operator for step in found.steps} == {
        "coordinator", "searcher", "browser", "responder", "discriminator"
    }  # fmt: skip
    assert found.verdict is not None
    assert 0.99 < sum(found.verdict.shares.values()) <= 1


def test_what_no_page_tells_is_not_verified_and_the_run_ends(make_engine: MakeEngine) -> None:
    found = run(make_engine, "What does a saffron bun cost at the Larkfield fair?")

    assert not found.verified
    assert "limit" in found.end
    assert len({step.said for step in found.steps if step.operator == "responder"}) > 1


def test_without_documents_it_ends_too(make_engine: MakeEngine) -> None:
    found = run(make_engine, "Who built the mill?", pages={})

    assert not found.verified
    assert found.proposal is not None
    assert found.proposal.answer == "Nothing that was found answers this."


def test_a_long_page_is_read_in_pieces(make_engine: MakeEngine) -> None:
    long = "The weather was fine that day. " * 300 + PAGES["mill.html"] + " It rained on the next day." * 300

    found = run(make_engine, "Who built the water mill of Larkfield?", {"mill.html": f"Mill.\n{long}"}, context=1_500)

    assert found.verified
    assert found.proposal is not None
    assert "Ada Korn" in found.proposal.answer


def test_the_same_question_takes_the_same_steps(make_engine: MakeEngine) -> None:
    first, second = (run(make_engine, "Where was Ada Korn born?").steps for _ in range(2))

    assert [step.model_copy(update={"seconds": 0}) for step in first] == [
        step.model_copy(update={"seconds": 0}) for step in second
    ]
