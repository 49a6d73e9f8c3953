"""The searcher: finds memories of the pool, passages of documents and, where it is set up, pages of the web.

Exact conditions on memories are for an operator of its own: a small model fills in every form that it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from memshare_agents.reasoning.knowledge import Sort
from memshare_agents.reasoning.operator import Arguments, Context, Operator, OperatorResult
from memshare_agents.reasoning.short_term import ShortTermItem
from memshare_broker.errors import BadInput, GiveUp, TryAgain
from memshare_broker.wire.forms import readable
from memshare_memory.door.messages import Conditions

FOUND = 5  # passages and pages a search

Place = Literal["memory", "documents", "web"]


Query = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=400),
    Field(description="the words to search for: names and terms rather than a whole question"),
]


class SearcherArguments(Arguments):
    """The words to look for, and where."""

    query: Query
    places: list[Place] = Field(default=["memory", "documents"], min_length=1, max_length=3)


def run(arguments: SearcherArguments, context: Context) -> OperatorResult:
    library, web = context.sources.library, context.sources.web

    def in_documents() -> list[ShortTermItem]:
        found = library.search(arguments.query, FOUND, context.documents) if library else []
        return [
            ShortTermItem("passage", one.text, one.source, one.title, one.memory_id, one.similarity) for one in found
        ]

    def in_web() -> list[ShortTermItem]:
        found = web.search(arguments.query, FOUND) if web else []
        return [ShortTermItem("link", one.snippet, one.url, one.title) for one in found]

    ways: dict[Place, Callable[[], list[ShortTermItem]]] = {
        "memory": lambda: context.knowledge.search(arguments.query, Conditions()),
        "documents": in_documents,
        "web": in_web,
    }
    items: list[ShortTermItem] = []
    said = []
    for place in dict.fromkeys(arguments.places):
        try:
            found = ways[place]()
        except (BadInput, TryAgain, GiveUp) as error:
            if place == "memory":
                raise  # the pool is no source that one can do without
            said.append(f"{place}: {error}")
            continue
        items += found
        said.append(f"{place}: {len(found)} found")
    return OperatorResult(said="; ".join(said), read=tuple(item.name for item in items), items=tuple(items))


Field_ = Literal[
    "agent", "kind", "submitter", "model", "since", "until", "words", "score_from", "score_to", "credibility_from",
    "credibility_to"
]  # fmt: skip


class Condition(Arguments):
    """An exact condition on memories."""

    field: Field_ = Field(description="since, until: a day such as 2026-11-24; words: one that stands in it")
    value: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]


class FilteredSearch(Arguments):
    """The words to look for, and the memories that count: all conditions must hold."""

    query: Query
    conditions: list[Condition] = Field(max_length=6)
    sort: Sort | None = Field(default=None, description="the highest of it first; null: the nearest first")


def run_filtered(arguments: FilteredSearch, context: Context) -> OperatorResult:
    """Search the memories that exact conditions let through, nearest first or sorted."""
    given: dict[str, object] = {one.field: one.value for one in arguments.conditions if one.field != "words"}
    words = [one.value for one in arguments.conditions if one.field == "words"]
    try:
        conditions = Conditions.model_validate(given | {"words": words})
    except ValidationError as error:
        return OperatorResult(
            said=f"memory: nothing was searched, as a condition is wrong: {readable(error, 'filter')}"
        )
    items = context.knowledge.search(arguments.query, conditions, arguments.sort)
    return OperatorResult(
        said=f"memory: {len(items)} found", read=tuple(item.name for item in items), items=tuple(items)
    )


searcher = Operator(
    name="searcher",
    does="Searches the memories, the documents or the web (see `places`) by words and by meaning.",
    arguments=SearcherArguments,
    run=run,
)
filtered = Operator(
    name="filter",
    does="Searches the memories by exact conditions. Only where the question itself says by whom, of when or how good.",
    arguments=FilteredSearch,
    run=run_filtered,
)
