"""The searcher finds memories of the pool, passages of documents and, where it is set up, pages of the web.

Exact conditions on memories are for an operator of its own: a small model fills in every form that it is given. The
browser reads one page or document and says what it tells of what is looked for, or that it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from memshare_agents.reasoning.knowledge import ShortTermItem, Sort, cut, tokens_of
from memshare_agents.reasoning.operator import Arguments, Context, Operator, OperatorResult, conversation
from memshare_agents.reasoning.sources.extract_text import pieces
from memshare_broker.errors import BadInput, GiveUp, TryAgain
from memshare_broker.wire.forms import readable
from memshare_broker.wire.same_text import is_blank, normal
from memshare_llm.structured import ReplyForm, ask
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


def search(arguments: SearcherArguments, context: Context) -> OperatorResult:
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


def search_filtered(arguments: FilteredSearch, context: Context) -> OperatorResult:
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
    run=search,
)
filtered = Operator(
    name="filter",
    does="Searches the memories by exact conditions. Only where the question itself says by whom, of when or how good.",
    arguments=FilteredSearch,
    run=search_filtered,
)


UNQUOTED = "(The page was not quoted.)"
PIECES = 8  # of a long page, at most so many are read

READ = """\
You read a page for somebody who looks for something in it. `looking_for` is what is looked for, `question` what it \
is needed for, `page` the page's text, `title` and `source` what it is.
If the page tells it, set `found` to true, say in `answer` what it tells in a few sentences that can be understood \
without the page, with its names and figures, and copy into `quote` the sentence of the page that says so, word for \
word. If it does not, set `found` to false and leave both empty: never add anything that is not on the page."""

SUMMARISE = """\
You shorten one piece of a long page for somebody who looks for something in it. `looking_for` is what is looked \
for, `piece` the piece's text. Copy into `summary` the sentences that bear on it, word for word where you can, with \
names and figures; leave it empty if none does. Never add anything that is not in the piece."""

Short = Annotated[str, StringConstraints(strip_whitespace=True, max_length=4_000)]


class BrowserArguments(Arguments):
    """The source to read, and the information wanted."""

    source: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)] = Field(
        description="the `source` of an item, or an address that stands in the question"
    )
    looking_for: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=400)] = Field(
        description="what the page is to tell"
    )


class PageReading(ReplyForm):
    """A reading of a page."""

    found: bool
    answer: Short
    quote: Short


class PageSummary(ReplyForm):
    """A summary of a piece of a page; empty where it says nothing of what is looked for."""

    summary: Short


def read(arguments: BrowserArguments, context: Context) -> OperatorResult:
    source = arguments.source
    if source not in context.sources_found and source not in context.whole:
        # An address that a text names could carry what was found here to whoever wrote it.
        return OperatorResult(
            said=f"Not opened: no search has found {source!r}, and it does not stand in the question."
        )
    try:
        page = context.sources.browser.read(source)
    except (BadInput, TryAgain, GiveUp) as error:
        return OperatorResult(said=f"Not read: {error}", read=(source,))

    text, note = page.text, ""
    if tokens_of(text) > context.room:
        text, note = _shortened(text, arguments.looking_for, context)
    reading = ask(
        context.chat,
        conversation(
            READ,
            {
                **context.asked,
                "looking_for": arguments.looking_for,
                "source": source,
                "title": page.title,
                "page": text,
            },
        ),
        PageReading,
    ).value
    if not reading.found or is_blank(reading.answer):
        said = f"The page does not tell: {arguments.looking_for}{note}"
        # It is held, so that the page is not opened for it again.
        return OperatorResult(said=said, read=(source,), items=(ShortTermItem("not there", said, source, page.title),))
    words = reading.answer
    if not _stands_in(reading.quote, page.text):
        words += f"\n{UNQUOTED}"
    elif not _stands_in(reading.quote, words):
        words += f'\nOn the page: "{reading.quote}"'
    parents = tuple(item.memory_id for item in context.items if item.source == source and item.memory_id is not None)
    found = ShortTermItem("page", words, source, page.title, parents=parents)
    return OperatorResult(said=reading.answer + note, read=(source,), items=(found,))


def _shortened(text: str, looking_for: str, context: Context) -> tuple[str, str]:
    """Summaries of the pieces of a long text, small enough to be read at once, and a note on what was left out."""
    parts = pieces(text, max(1, len(text) * context.room // tokens_of(text)))
    share = context.room // min(len(parts), PIECES)
    summaries = []
    for part in parts[:PIECES]:
        turns = conversation(SUMMARISE, {"looking_for": looking_for, "piece": cut(part, context.room)})
        summaries.append(cut(ask(context.chat, turns, PageSummary).value.summary, share))
    left_out = len(parts) - PIECES
    note = f" (the page has {len(parts)} pieces; the last {left_out} were not read)" if left_out > 0 else ""
    return "\n".join(summary for summary in summaries if summary), note


def _stands_in(quote: str, text: str) -> bool:
    wanted = " ".join(normal(quote).split())
    return bool(wanted) and wanted in " ".join(normal(text).split())


browser = Operator(
    name="browser",
    does="Reads one document or web page whole and says what it tells of something.",
    arguments=BrowserArguments,
    run=read,
)
