from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memshare_agents.reasoning.engine import Engine
from memshare_agents.reasoning.knowledge import Knowledge
from memshare_agents.reasoning.sources.build import SearchLink, Sources
from memshare_broker.errors import TryAgain
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import Conditions
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Where
from tests.support.memories import remembered
from tests.support.scripted_chat import ScriptedChat
from tests.support.shelf import CHECK, RESPOND, Links, answered, judged, planned, search, sources

MakeEngine = Callable[..., Engine]

MAY_FIRST, JULY_FIRST = 1_777_593_600, 1_782_864_000  # 2026-05-01 and 2026-07-01, 00:00 UTC


@pytest.fixture
def found(make_engine: MakeEngine) -> Callable[..., Any]:
    """Run one search, and give what the responder was then shown."""

    def look(step: dict[str, Any], found_in: Sources | None = None) -> tuple[list[str], str]:
        chat = ScriptedChat(planned(step, RESPOND, CHECK), answered("Yes."), judged(True))
        run = make_engine(chat, found_in).run("Which lamp?", "Answer.")
        return [item.text for item in run.items], run.steps[1].said

    return look


def remember(recall: Recall, prompt: str | None, answer: str, **fields: Any) -> None:
    memory = remembered(prompt, answer=answer, pool="reasoning")[0].model_copy(update=fields)
    recall.store.put([(memory, recall.vectors([memory])[0])])


def test_memories_are_found_by_words_and_by_meaning(recall: Recall, found: Callable[..., Any]) -> None:
    remember(recall, "old lamp by the sea", "Brass.")
    remember(recall, None, "A lamp of oil is dim.")
    remember(recall, "old shoe", "Leather.", pool="poem")

    texts, said = found(search("lamp"))

    assert set(texts) == {"Brass.", "A lamp of oil is dim."}
    assert said == "memory: 2 found; documents: 0 found"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"agent": "plan"}, {"of May"}),
        ({"kind": "riddle"}, {"of July"}),
        ({"submitter": "ada"}, {"of May"}),
        ({"since": "2026-06-01"}, {"of July"}),
        ({"until": "2026-06-01"}, {"of May"}),
        ({"since": "2026-05-01", "until": "2026-05-01"}, {"of May"}),
        ({"score_from": 80}, {"of July"}),
        ({"score_to": 80}, {"of May"}),
        ({"credibility_from": 1.1}, {"of July"}),
        ({"credibility_to": 1.0}, {"of May"}),
        ({"words": ["OF", "july"]}, {"of July"}),
        ({"words": ["lamp"]}, {"of May", "of July"}),
        ({"submitter": "ada", "words": ["july"]}, set()),
        ({"agent": "nobody"}, set()),
    ],
)
def test_filters_are_exact_and_all_must_hold(
    recall: Recall, found: Callable[..., Any], filters: dict[str, Any], expected: set[str]
) -> None:
    may = {"agent": "plan", "kind": "study", "submitter": "ada", "created": MAY_FIRST, "score": 50}
    july = {"agent": "logic", "kind": "riddle", "submitter": "bob", "created": JULY_FIRST, "score": 90}
    remember(recall, "lamp one", "of May", **may)
    remember(recall, "lamp two", "of July", **july)
    recall.store.note_credibility({one.id: 1.25 for one in recall.store.page(Where(submitter="bob"), 9).memories})

    texts, _ = found(search("lamp", "memory", **filters))

    assert set(texts) == expected


def test_memories_are_sorted_and_what_agents_are_not_shown_is_left_out(
    recall: Recall, found: Callable[..., Any]
) -> None:
    remember(recall, "lamp one", "oldest", created=1.0, score=70)
    remember(recall, "lamp two", "newest", created=3.0, score=60)
    remember(recall, "shoe", "best", created=2.0, score=90)
    remember(recall, "lamp", "hidden", created=9.0, status="hidden")
    remember(recall, "lamp", "not credible", created=8.0, score=95)
    [untrusted] = recall.store.page(Where(score_from=95), 9).memories
    recall.store.note_credibility({untrusted.id: 0.2})

    assert found(search("lamp", "memory", sort="time"))[0] == ["newest", "best", "oldest"]
    assert found(search("lamp", "memory", sort="score"))[0] == ["best", "oldest", "newest"]
    assert found(search("lamp", "memory", sort="time", words=["lamp"], score_to=65))[0] == ["newest"]


def test_what_is_hidden_is_not_found_by_any_filter(recall: Recall, found: Callable[..., Any]) -> None:
    remember(recall, "lamp one", "of May", agent="plan", status="hidden")

    assert found(search("lamp", "memory"))[0] == []
    assert found(search("lamp", "memory", agent="plan"))[0] == []


def test_a_task_that_wants_no_memories_gets_none(recall: Recall, memory: MemoryClient) -> None:
    remember(recall, "lamp one", "of May")
    none, some = (Knowledge(memory, "reasoning", k, "hybrid") for k in (0, 3))

    assert none.search("lamp", Conditions()) == []
    assert len(some.search("lamp", Conditions())) == 1


def test_the_web_is_searched_where_it_is_set_up(found: Callable[..., Any]) -> None:
    web = Links(SearchLink(url="https://example.org/lamp", title="Lamps", snippet="All about lamps."))

    assert found(search("lamp", "web"), sources(web=web)) == (["All about lamps."], "web: 1 found")
    assert found(search("lamp", "web"), sources()) == ([], "web: 0 found")


def test_a_place_that_is_out_of_order_leaves_the_others(found: Callable[..., Any]) -> None:
    class Broken(Links):
        def search(self, _query: str, _k: int) -> list[SearchLink]:
            raise TryAgain("The search engine did not answer.")

    texts, said = found(search("mill", "web", "documents"), sources({"a.html": "A mill."}, web=Broken()))

    assert texts == ["A mill."]
    assert said == "web: The search engine did not answer.; documents: 1 found"


def test_a_task_that_names_documents_looks_in_these_alone(make_engine: MakeEngine) -> None:
    shelf = sources({"a.html": "A mill.", "b.html": "Another mill."})
    chat = ScriptedChat(planned(search("mill", "documents"), RESPOND, CHECK), answered("Yes."), judged(True))

    run = replace(make_engine(chat, shelf), documents=("b.html",)).run("Which mill?", "Answer.")

    assert [item.text for item in run.items] == ["Another mill."]
