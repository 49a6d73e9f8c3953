"""The browser: reads one page or document and says what it tells of what is looked for, or that it does not."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from memshare_agents.reasoning.operator import Arguments, Context, Operator, OperatorResult, conversation
from memshare_agents.reasoning.short_term import ShortTermItem, cut, tokens_of
from memshare_agents.reasoning.sources.extract_text import pieces
from memshare_broker.errors import BadInput, GiveUp, TryAgain
from memshare_broker.wire.same_text import is_blank, normal
from memshare_llm.structured import ReplyForm, ask

UNQUOTED = "(The page was not quoted.)"
PIECES = 8  # of a long page, at most so many are read

INSTRUCTIONS = """\
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


def run(arguments: BrowserArguments, context: Context) -> OperatorResult:
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
            INSTRUCTIONS,
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
    run=run,
)
