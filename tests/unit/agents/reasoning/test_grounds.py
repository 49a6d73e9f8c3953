"""What a run's answers rest on: whom they credit and blame, and what they have learnt from pages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memshare_agents.reasoning.engine import Engine, EngineRun, judged_in, learnt_in, parts_in, shown_in
from memshare_broker.wire.messages import Learnt
from memshare_memory.memory import Memory
from memshare_memory.recall.recall import Recall
from tests.support.memories import remembered
from tests.support.scripted_chat import ScriptedChat
from tests.support.shelf import (
    RESPOND,
    answered,
    browse,
    coordinate,
    document_id,
    judged,
    planned,
    search,
    sources,
    told,
)

MakeEngine = Callable[..., Engine]
NOW = 1.8e9
MILL = {"mill.html": "The mill was built by Ada Korn.", "korn.pdf": "Ada Korn was born in Ulm."}
BUILT, BORN = "Ada Korn built the mill.", "Ada Korn was born in Ulm."


@pytest.fixture
def lamps(recall: Recall) -> list[Memory]:
    """Memories, each of which is found by its own word alone."""
    items = [remembered(f"lamp {name}", answer=f"It is {name}.", pool="reasoning")[0] for name in ("red", "blue")]
    recall.store.put([(one, recall.vectors([one])[0]) for one in items])
    return items


def find(word: str) -> dict[str, object]:
    return search(word, "memory", words=[word])


def run(make_engine: MakeEngine, *replies: object, **limits: float) -> EngineRun:
    return make_engine(ScriptedChat(*replies), sources(MILL), **limits).run("What is it?", "Answer.")


def shares(found: tuple[object, ...]) -> dict[object, float | None]:
    return {one.id: one.share for one in found}  # type: ignore[attr-defined]


def verdicts(found: EngineRun) -> list[tuple[float, dict[object, float | None]]]:
    return [(one.verdict, shares(one.shown)) for one in judged_in(found)]


def test_the_share_of_an_answer_to_a_sub_question_passes_to_what_that_rests_on(
    make_engine: MakeEngine, lamps: list[Memory]
) -> None:
    red, blue = lamps
    found = run(
        make_engine,
        planned(coordinate("Is it red?"), find("blue"), RESPOND),
        planned(find("red"), search("mill", "documents"), RESPOND),
        answered("Yes.", "k1", "k2"), judged(True, k1=0.5, k2=0.25),
        answered("Both.", "k3", "k4"), judged(True, k3=0.6, k4=0.4),
    )  # fmt: skip

    assert found.verified
    assert shares(shown_in(found)) == {blue.id: 0.4, red.id: 0.3, document_id("mill.html"): pytest.approx(0.15)}
    assert verdicts(found) == [(1.0, {red.id: 0.5, document_id("mill.html"): 0.25})]


def test_every_verdict_on_the_way_counts_by_its_shares(make_engine: MakeEngine, lamps: list[Memory]) -> None:
    red, blue = lamps
    found = run(
        make_engine,
        planned(find("red"), RESPOND), answered("Red.", "k1"), judged(False, k1=0.7),
        planned(find("blue"), RESPOND), answered("Blue.", "k3"), judged(False, k3=0.5, k1=0.2),
        planned(),
    )  # fmt: skip

    assert not found.verified
    assert verdicts(found) == [(0.0, {red.id: 0.7}), (0.0, {blue.id: 0.5, red.id: 0.2})]
    assert shares(shown_in(found)) == {red.id: 0.2, blue.id: 0.5}


def test_a_rejected_answer_counts_though_a_later_one_was_verified_which_is_graded(
    make_engine: MakeEngine, lamps: list[Memory]
) -> None:
    red, blue = lamps
    found = run(
        make_engine,
        planned(find("red"), find("blue"), RESPOND), answered("Red.", "k1", "k2"), judged(False, k1=0.7, k2=0.3),
        planned(RESPOND), answered("Blue.", "k2"), judged(True, k2=0.2),
    )  # fmt: skip

    assert shares(shown_in(found)) == {blue.id: 0.2}
    assert verdicts(found) == [(0.0, {red.id: 0.7, blue.id: 0.3})]


def test_blame_reaches_a_memory_that_has_faded_since(make_engine: MakeEngine, lamps: list[Memory]) -> None:
    found = run(
        make_engine,
        planned(find("red"), RESPOND), answered("Red.", "k1"), judged(False, k1=0.7),
        planned(*[search("mill", "documents")] * 6, RESPOND), answered("Blue."), judged(False), planned(),
        decay=0.4,
    )  # fmt: skip

    assert all(item.memory_id != lamps[0].id for item in found.items)
    assert verdicts(found) == [(0.0, {lamps[0].id: 0.7})]


def read_and_answered(*replies: object, share: float = 0.5, verified: bool = True) -> tuple[object, ...]:
    return (
        planned(search("mill", "documents"), browse("mill.html"), RESPOND),
        *replies,
        answered("Ada Korn.", "k2"),
        judged(verified, k1=0.5, k2=share),
    )


def test_what_a_page_told_a_verified_answer_is_learnt_with_its_source(make_engine: MakeEngine) -> None:
    found = run(make_engine, *read_and_answered(told(BUILT, "The mill was built by Ada Korn.")))

    assert learnt_in(found, NOW) == (
        Learnt(
            statement=f'{BUILT}\nOn the page: "The mill was built by Ada Korn."',
            source="mill.html",
            read=NOW,
            parents=(document_id("mill.html"),),
        ),
    )


def test_what_a_page_told_an_answer_to_a_sub_question_is_learnt_too(make_engine: MakeEngine) -> None:
    found = run(
        make_engine,
        planned(coordinate("Who built it?"), RESPOND),
        planned(search("mill", "documents"), browse("mill.html"), RESPOND),
        told("Ada Korn did.", "built by Ada Korn"), answered("She.", "k2"), judged(True, k2=1.0),
        answered("Ada Korn.", "k3"), judged(True, k3=1.0),
    )  # fmt: skip

    assert [one.source for one in learnt_in(found, NOW)] == ["mill.html"]


@pytest.mark.parametrize(
    ("told_by_page", "share", "verified"),
    [
        (told(BUILT, "The mill was built by Ada Korn."), 0.0, True),
        (told(BUILT, "The mill was built by Ada Korn."), 0.5, False),
        (told(BUILT, "Words that are not on the page."), 0.5, True),
        (told(""), 0.5, True),
    ],
)
def test_what_was_not_used_not_verified_or_not_quoted_is_not_learnt(
    make_engine: MakeEngine, told_by_page: object, share: float, verified: bool
) -> None:
    found = run(
        make_engine,
        *read_and_answered(told_by_page, share=share, verified=verified),
        *([] if verified else [planned()]),
    )

    assert found.verified == verified
    assert learnt_in(found, NOW) == ()


def test_verified_sub_questions_are_told_with_what_they_rest_on_each_once_and_so_many_at_most(
    make_engine: MakeEngine, lamps: list[Memory]
) -> None:
    red, blue = lamps
    found = run(
        make_engine,
        planned(coordinate("Is it red?"), coordinate("Is it RED?"), coordinate("what is it?"), coordinate("Blue?"),
                coordinate("Is it green?"), RESPOND),
        planned(find("red"), RESPOND), answered("Yes.", "k1"), judged(True, k1=0.5),
        planned(RESPOND), answered("It is."), judged(True),
        planned(RESPOND), answered("A lamp."), judged(True),
        planned(find("blue"), RESPOND), answered("No.", "k5"), judged(True, k5=1.0),
        planned(RESPOND), answered("Perhaps."), judged(False), planned(),
        answered("Red.", "k2"), judged(True, k2=1.0),
        steps=40,
    )  # fmt: skip

    parts = parts_in(found, "What is it?", 5)

    assert [(one.question, one.answer, shares(one.shown)) for one in parts] == [
        ("Is it red?", "Yes.", {red.id: 0.5}), ("Blue?", "No.", {blue.id: 1.0})
    ]  # fmt: skip
    assert parts_in(found, "What is it?", 1) == parts[:1]
    assert parts_in(found, "What is it?", 0) == ()
