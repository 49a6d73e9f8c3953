"""Makes a page of a template: every text is shown as text, and what would turn or hide it is written out."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from memshare.client.rest.calls.journeys import State
from memshare_broker.observe.safe_text import plain
from memshare_broker.settings import OFFLINE
from memshare_broker.wire.grades import SettlementOutcome

MEANINGS: Mapping[str, str] = {
    "agent": "a worker that answers tasks from its own queue: a file with instructions, kinds of tasks and a pool",
    "cluster": "memories of a pool that share concepts",
    "concept": "what a memory is about, in a word or two",
    "consolidation": "training of the encoder itself on what the lessons taught",
    "credibility": "how well tasks went that were shown a statement; 1 is one that nobody has tried",
    "criterion": "one line of a rubric: its points come from the model's range, or from a program",
    "dead letter": "a message that was given up, kept until you decide",
    "encoder": "turns a text into numbers, so that texts that mean the same lie near each other",
    "gap": "what a pool is likely to lack",
    "journey": "everything that becomes of one task, under one id; `memshare trace ID` tells it",
    "kind": "what sort of task it is, such as a limerick; the rubric and what is usual depend on it",
    "lesson": "one new memory with labels that say which others would have helped to answer it",
    "lift": "by how many points a shown memory raises a score, measured by withholding some at random",
    "memory": "a prompt with an answer that was graded well, or a statement",
    "pool": "the memories that some agents share, or that an agent keeps for one submitter",
    "proven": "somebody speaks for the memory's submitter",
    "retriever": "what finds memories for a task: encoder, the pool's map, and the worth of submitters",
    "rubric": "how answers are graded: criteria with points, and a threshold",
    "similarity": "how near two texts are in meaning; 1 is the same",
    "stale": "a memory whose source has changed, is gone or was found wrong: it waits for a person",
    "statement": "a memory without a prompt: a fact by itself",
    "submitter": "who handed in a task or a memory",
    "threshold": "the score from which an answer is accepted, and remembered",
    "withheld": "found for a task and, at random, not shown, to measure what memories do",
    "worth": "how much better or worse than the pool's mean a submitter's memories turn out to be",
}
"""Word → what it means here."""
STATES: Mapping[State, str] = {
    "queued": "waiting",
    "asked": "question asked",
    "answered": "answered",
    "unanswered": "nothing near enough",
    "graded": "graded",
    "settled": "done",
    "dead": "given up",
    "cancelled": "cancelled",
}
"""State of a journey → what a page calls it."""
OUTCOMES: Mapping[SettlementOutcome, str] = {
    "stored": "yes",
    "replaced": "yes, in the place of a poorer one",
    "duplicate": "no: one that is as good was there",
    "rejected": "no: not good enough",
    "not kept": "no: it was not kept",
    "not graded": "no: it was not graded",
}
"""Outcome of an answer → whether it is remembered."""


MENU = (
    ("/", "Journeys"),
    ("/pool", "Pool"),
    ("/map", "Map"),
    ("/inbox", "Needs you"),
    ("/worth", "Does it help"),
    ("/now", "Now"),
    ("/review", "Review"),
    ("/agents", "Agents"),
    ("/access", "Access"),
)
"""Path and name, in the order of the menu."""


LABELS = {
    "'new_pool'": "“New pools may begin”", r" \(--pool\)": ": “Pool of lines that name none”",
    "name it: --scores": "the command line takes both", "--scale LOW:HIGH": "“Its scale, if not 0:1”",
    "--score": "“Score that counts”", "--from": "“It is”", "--at-least|at_least(?=:)": "“From which value on”",
    "Run `memshare rubric approve [^`]*`, then `[^`]*`": "Approve it in “Needs you”, then try it again",
    "`memshare dead retry [^`]*` (has|sends)": r"trying it again \1",
    "`memshare agents` (?=lists)": "“Agents” ", "`memshare retriever status` (?=counts)": "“Does it help” ",
}  # fmt: skip
"""Words for programs and command lines → those of the page."""


def labelled(fault: str | None) -> str:
    """A fault in the words of the page."""
    return functools.reduce(lambda text, pair: re.sub(pair[0], pair[1], text), LABELS.items(), fault or "")


def _cleaned(value: Any) -> Any:
    """The text in place of an expression, without characters that command, turn or hide."""
    if value is None:
        return ""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def in_field(text: str | None) -> Markup:
    """A text as it is, for a field in which a person changes it; a browser drops the first line feed."""
    return Markup("\n") + escape(text or "")


def short(text: str | None, width: int = 120) -> str:
    """The beginning of a text, on one line."""
    return cut(" ".join((text or "").split()), width)


def cut(text: str | None, length: int = 600) -> str:
    """The beginning of a text, with its lines."""
    text = text or ""
    return text if len(text) <= length else text[: length - 1] + "…"


def short_id(one: UUID | str | None) -> str:
    """The first 8 digits of an id."""
    return str(one or "")[:8]


def number(value: float | None, digits: int = 0) -> str:
    """A number as people read it; a dash for one that is not known."""
    return "–" if value is None else f"{value:,.{digits}f}"


def signed(value: float | None) -> str:
    """A difference, with its sign."""
    return "–" if value is None else f"{round(value, 1) + 0.0:+.1f}"


def percent(value: float | None) -> str:
    """A share as a percentage."""
    return "–" if value is None else f"{value:.0%}"


def ago(seconds: float | None) -> str:
    """How long ago a Unix time was, or in how long it will be, in the largest fitting unit."""
    if not seconds:
        return "–"
    passed = time.time() - seconds
    return "now" if abs(passed) < 1 else f"{lasting(passed)} ago" if passed > 0 else f"in {lasting(-passed)}"


def lasting(seconds: float | None) -> str:
    """A duration in the largest fitting unit."""
    if seconds is None:
        return "–"
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    if seconds < 0.1:
        return f"{seconds * 1_000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def moment(seconds: float | None) -> str:
    """A Unix time as a date and a time of UTC."""
    return "–" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def counted(count: int, one: str, more: str | None = None) -> str:
    """A number with its noun."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("memshare.doors.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_cleaned,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (in_field, short, cut, short_id, number, signed, percent, ago, lasting, moment, counted):
        made.filters[function.__name__] = function
    made.filters["labelled"] = labelled
    made.globals |= {"OFFLINE": OFFLINE, "MEANINGS": MEANINGS, "STATES": STATES, "OUTCOMES": OUTCOMES, "MENU": MENU}
    made.globals["part"] = made.get_template("parts.html.j2").module
    return made


ENVIRONMENT = _environment()


def rendered(template: str, **values: Any) -> str:
    """A page, or a part of one."""
    return ENVIRONMENT.get_template(f"{template}.html.j2").render(**values)
