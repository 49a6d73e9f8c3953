"""A memory: a good prompt-answer pair of an earlier task, or a plain statement."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from typing import Literal
from uuid import UUID

from pydantic import Field

from memshare_broker.wire.forms import Label, Moment, Percent
from memshare_broker.wire.grades import CriterionScore
from memshare_broker.wire.lessons import Concepts
from memshare_broker.wire.messages import Message, asked, derived_id
from memshare_broker.wire.same_text import SENTENCE_ENDS, normal

Status = Literal["active", "hidden", "stale"]
"""A hidden memory is kept and not shown. So is a stale one: what it was written from says something else by now."""
Mode = Literal["dense", "hybrid"]
"""How memories are searched: by meaning alone, or by meaning and by words."""

Verdict = Literal["agree", "contradict", "dismissed", "confirmed", "right", "wrong"]
"""Verdict on a memory and another one: both may be true, or they contradict each other. The last four verdicts
are a person's, which a model's does not undo; of two that contradict each other one may be right, the other wrong.
"""
Became = Literal["changed", "forgotten", "found wrong", "found wrong by its check"]
"""Change of a memory that makes stale what was written from it; what was forgotten does so of statements alone."""
FAILED: Became = "found wrong by its check"
KNEW_BETTER = "its grade, which knew what people found right, was too low"  # why it is hidden

KNOWLEDGE = "knowledge"  # the kind of a statement, which may have the question that it answers as its prompt
FLOOR = 0.4  # of credibility; a memory below it is not shown
UNTRIED = 1.0  # credibility of a memory that was never tried


class Credibility(Message):
    """p of the bandit for a task just like the memory's own, and the verdicts after it was shown: grades and feedback.

    Of a statement these are verdicts on what follows it; those of a pair without a share weigh nothing.
    """

    p: float
    credits: int


class Cause(Message):
    """Reason why another memory is stale: a memory, the change of it, and the time (Unix time in seconds)."""

    memory: UUID
    became: Became
    at: Moment


class Revision(Message):
    """An earlier version of a memory's text, until when it stood (Unix time in seconds), and who changed it.

    The score and the model are those of that version, which a person found wrong where it `lost_to` others, and which
    was stale `because` of its sources; `decided` is what else a person said of it beside others.
    """

    prompt: str | None
    answer: str
    until: Moment
    by: Label | None = None
    score: Percent | None = None
    model: str | None = None
    lost_to: tuple[UUID, ...] = ()
    decided: dict[UUID, Verdict] = Field(default={})
    because: tuple[Cause, ...] = ()


class CalledWrong(Message):
    """Who said that what a memory says is wrong, and of which journey's answer; of none, if of the memory itself."""

    by: Label = "somebody"
    journey: str = ""
    why: str = Field(default="", description="what they gave as the reason")
    copy_of: UUID | None = Field(default=None, description="the memory of which they said it, if this one is its copy")


class Origin(Message):
    """The memory that one was promoted from, its pool, who approved that, and when (Unix time in seconds)."""

    memory: UUID
    pool: Label
    approved_by: Label | None
    at: Moment


class Memory(Message):
    """A memory of a pool. The prompt is the user's own; it is absent for a plain statement."""

    id: UUID
    pool: Label
    prompt: str | None
    answer: str = Field(min_length=1)
    agent: Label | None = None
    kind: Label | None = None
    submitter: Label = "anonymous"
    model: str | None = None
    score: Percent | None = None
    criteria: dict[str, CriterionScore] = Field(default={})
    rubric_version: str | None = None
    task_id: str | None = None
    source: str | None = Field(default=None, description="where a statement was read: a document or a web address")
    parents: tuple[UUID, ...] = Field(default=(), description="the memories its answer followed, or was a part of")
    origin: Origin | None = Field(default=None, description="where it was promoted from")
    created: Moment = Field(description="Unix time in seconds")
    confirmed: Moment | None = Field(default=None, description="when a task or a person found it of use, to the day")
    valid_until: Moment | None = Field(default=None, description="Unix time in seconds, after which it is hidden")
    status: Status = "active"
    why_hidden: str | None = Field(default=None, description="where its check failed, or its time is over")
    because: tuple[Cause, ...] = Field(
        default=(), description="why it is stale, or was until a person kept it; none where that is not known"
    )
    history: tuple[Revision, ...] = Field(default=(), description="what it said before, oldest first")
    concepts: Concepts = Field(
        default={},
        description="names by level: -1 subjects, 0 the topic, 1 to 4 ever more general; none: not known yet",
    )

    @property
    def key(self) -> str:
        """The text a task is compared with: the prompt, or the answer where there is none."""
        return self.prompt or self.answer

    @property
    def asked(self) -> str:
        """The text that is encoded: the same, but of a conversation what was asked last comes first."""
        return self.answer if self.prompt is None else asked(self.prompt)

    @property
    def edited(self) -> tuple[str | float | None, ...]:
        """The fields that an edit may change; concepts and the like are written by the service beside them."""
        return self.prompt, self.answer, self.status, self.valid_until

    @property
    def is_statement(self) -> bool:
        """True if it is a piece of knowledge that somebody brought in, not an answer to a task."""
        return self.prompt is None or self.kind == KNOWLEDGE

    @property
    def is_a_persons(self) -> bool:
        """True if a person brought it in, or wrote what it says now."""
        return self.task_id is None or bool(self.history)

    @property
    def is_passage(self) -> bool:
        """True if it is a piece of a document, its parent; a statement that an agent learnt from one has a source."""
        return self.prompt is None and bool(self.parents) and self.source is None

    def text_before(self, at: float) -> tuple[str | None, str]:
        """Prompt and answer before the last change up to a time; those of now where it was not changed."""
        last = [one for one in self.history if one.until <= at][-1:]
        return next(((one.prompt, one.answer) for one in last), (self.prompt, self.answer))

    def text_at(self, at: float) -> tuple[str | None, str]:
        """Prompt and answer as they were at a time."""
        return next(((one.prompt, one.answer) for one in self.history if one.until > at), (self.prompt, self.answer))

    def says_as_at(self, at: float) -> bool:
        """True if its answer says what it said at a time."""
        return said(self.text_at(at)[1]) == said(self.answer)

    def has_changed(self, since: float) -> bool:
        """True if it says something else than at a time."""
        return self.text_at(since) != (self.prompt, self.answer)

    def decided_at(self, at: float, other: UUID, verdict: Verdict) -> Memory:
        """This memory, with what a person said of its text at a time, which it has no more, and of another memory."""
        place = next(number for number, one in enumerate(self.history) if one.until > at)
        was = self.history[place]
        lost = (
            {"lost_to": (*was.lost_to, other)} if verdict == "wrong" else {"decided": {**was.decided, other: verdict}}
        )
        then = was.model_copy(update=lost)
        return self.model_copy(update={"history": (*self.history[:place], then, *self.history[place + 1 :])})

    def freed(
        self,
        of: Collection[UUID],
        became: Became,
        source: Memory | None = None,
        wrong: Collection[tuple[str | None, str]] = (),
    ) -> Memory:
        """This memory, active again if it is stale as this became of those, and for no other reason.

        A change of a `source` is over once that has the text again which this was written from; not of what was under
        way meanwhile. What was found of a text of it that is `wrong` still is over where it has that text.
        """

        def is_over(cause: Cause) -> bool:
            if cause.memory not in of or cause.became != became or self.status == "active":
                return False
            if source is None:
                return True
            now, own = (source.prompt, source.answer), {source.text_at(self.created)} if not self.history else set()
            if became != "changed":
                return now in own or source.text_at(cause.at) not in wrong
            return self.created < cause.at and now in own | {source.text_before(cause.at)}

        return self.stale_by(tuple(cause for cause in self.because if not is_over(cause)))

    def stale_by(self, left: tuple[Cause, ...]) -> Memory:
        """This memory with those causes alone that are left, and active if it is stale and there is none."""
        if left == self.because:
            return self
        status = "active" if self.status == "stale" and not left else self.status
        changed = self.model_copy(update={"status": status, "because": left})
        return changed if left else changed.without_that_grade()

    def without_that_grade(self) -> Memory:
        """This memory, shown again and not graded, if a grade hid it that knew what a person decided."""
        if self.status != "hidden" or self.why_hidden != KNEW_BETTER:
            return self
        status = "stale" if self.because else "active"
        grade: dict[str, object] = {"score": None, "criteria": {}, "rubric_version": None}
        return self.model_copy(update={**grade, "status": status, "why_hidden": None})

    def as_stale_as(self, known: Memory | None) -> Memory:
        """This memory, stale if the one that is known under its id is so, and says the same."""
        if known is None or known.status != "stale" or (known.prompt, known.answer) != (self.prompt, self.answer):
            return self
        status = "stale" if self.status == "active" else self.status
        return self.model_copy(update={"status": status, "because": known.because})

    def begun_anew(self, before: Memory, by: str, at: float, decided: Mapping[UUID, Verdict] = {}) -> Memory:
        """This memory, which has another text than `before`, without what was said of that one, which its history has.

        A person has looked at it, so it is stale no longer; with a text that it had before it is, as it was with that.
        """
        now = () if before.status == "active" else before.because
        was = Revision(
            prompt=before.prompt, answer=before.answer, until=at, by=by, score=before.score, model=before.model,
            lost_to=tuple(one for one, said in decided.items() if said == "wrong"), because=now,
            decided={one: said for one, said in decided.items() if said in ("dismissed", "confirmed", "right")},
        )  # fmt: skip
        then = [one.because for one in before.history if (one.prompt, one.answer) == (self.prompt, self.answer)]
        return self.model_copy(
            update={
                "history": (*before.history, was),
                "status": "active" if self.status == "stale" else self.status,
                "score": None,
                "model": None,
                "criteria": {},
                "rubric_version": None,
                "concepts": {},
                "because": (*then[-1], *now) if then else (),
                "confirmed": at,
            }
        )


class CreditSnapshot(Message):
    """Worth of a memory, and the memories that contradict it."""

    arm: str | None = Field(default=None, description="what it was worth, as the arms of its pool have it")
    given: dict[str, str] = Field(default={}, description="of what it was worth, what each submitter's tasks gave")
    rivals: tuple[UUID, ...] = Field(default=(), description="what contradicted it, or was said to")
    confirmed: tuple[UUID, ...] = Field(default=(), description="of these what a person said so of")
    right: tuple[UUID, ...] = Field(default=(), description="of these over which a person said that it is right")
    wrong: tuple[UUID, ...] = Field(default=(), description="of these what a person said to be right")
    dismissed: tuple[UUID, ...] = Field(default=(), description="of these what a person said to be right beside it")


class ForgottenMemory(CreditSnapshot):
    """A memory in the trash. Times are Unix times in seconds."""

    memory: Memory
    forgotten: float
    until: float = Field(description="when it goes for good")
    made_stale: tuple[UUID, ...] = Field(default=(), description="what was written from it")
    is_called_wrong: bool = Field(default=False, description="whether it was hidden then as its answer was called so")

    def back(self, *, is_wrong: bool) -> Memory:
        """The memory, hidden if its answer is called wrong, and hidden no more if it was so for that alone."""
        status = "hidden" if is_wrong else self.memory.status
        if self.is_called_wrong and not is_wrong:
            status = "stale" if self.memory.because else "active"
        return self.memory.model_copy(update={"status": status})


def folded(text: str) -> str:
    """A text without the differences of case, white space and spelling."""
    return " ".join(normal(text).casefold().split())


_QUOTES = "\"'“”„«»‘’‚‹›「」『』"
_ALIKE = str.maketrans({**dict.fromkeys("‘’ʼ‚", "'"), **dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‐‑‒–—−", "-")})
_WIDE = re.compile("[\uff01-\uffee]+")  # letters and signs of another width
_EAST = "\u3000-\u9fff\uac00-\ud7ff"  # these write no spaces between words
_MARK = re.compile("[-*•>#`_]")
_LEVELS = 3  # of marks in others
_FENCE = re.compile(r"\A(`{3,}|~{3,})[ \t]*[\w+#.-]*[ \t]*\n(.*)\n[ \t]*\1\Z", re.DOTALL)
_LINE = re.compile(r"^[ \t]*(?:(?:\A#|#{2,6}|[-*•>])[ \t]+)+(?=[\"'*_`(]*[^\W\d_]{2})", re.MULTILINE)
_EMPHASIS = re.compile(
    rf"(?<![^\s(\"':{_EAST}])"
    r"(?:(\*{1,3})(?=[\w\"'`_(])([^*]*[^\s*])\1|(`+)([^`]+)\3|(__?)(?=[\w\"'][^_]*\s)([^_]*[^\s_])\5)"
    rf"(?![^\s.,;:!?)\"'…{_EAST}])"
)
_INSIDE = r"\2\4\6"
FORMAL = re.compile(
    r"[{}\[\]`\\|_]|\w\(|;\s*$|<[\w/]|(^|\s)--?[a-z]"
    r"|\b(select\b(?s:.*)|delete)\sfrom\b|\binsert\sinto\b|\bupdate\s\w+\sset\b",
    re.IGNORECASE | re.MULTILINE,
)
"""Marks of a language that a program reads, of which texts about anything have words in common."""
_COMMAND = re.compile(r"(?:cat|cd|chmod|cp|echo|grep|ls|mv|rm|sed|sudo|tar)\s")


def said(answer: str, *, by_program: bool = False) -> str:
    """The same for answers that say the same: `folded`, without quotation marks around it, and what ends a sentence.

    Nor with what Markdown makes bold, a heading, an item of a list and the like, but in what a program reads, where
    such marks say something; around the whole of it they do not, unless a program grades it.
    """
    if by_program:
        return _core(answer)
    if not (text := normal(answer).strip()).isascii():
        text = _WIDE.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text).translate(_ALIKE)
    text = _FENCE.sub(r"\2", text)
    plain = text = _EMPHASIS.sub(_INSIDE, text) if _EMPHASIS.fullmatch(text) else text
    for _ in range(_LEVELS if _MARK.search(text) else 0):
        plain = _EMPHASIS.sub(_INSIDE, _LINE.sub("", plain))
    return _core(text if plain != text and (FORMAL.search(plain) or _COMMAND.match(plain)) else plain)


def _core(answer: str) -> str:
    text = folded(answer)
    return text.lstrip(f" {_QUOTES}").rstrip(f" {_QUOTES}{SENTENCE_ENDS}") or text


def saying(answer: str) -> str:
    """The same for answers that are the same when `folded`: a store finds them by it, or by that of what is `said`."""
    return blake2b(folded(answer).encode(), digest_size=12).hexdigest()


def sayings(answer: str) -> tuple[str, ...]:
    """The values of `saying` for an answer, for what is `said`, and for that with other ends and marks around it.

    The latter are all that memories of earlier versions are found by.
    """
    core, by_program = said(answer), said(answer, by_program=True)
    ended = [f"{one}{end}" for one in (core, by_program) for end in ("", *SENTENCE_ENDS)]
    quoted = [f"{first}{one}{last}" for first, last in ('""', "“”", "„“", "«»") for one in ended]
    marked = [f"{mark}{core}{end}" for mark in ("**", "*", "`") for end in (mark, f".{mark}", f"{mark}.")]
    return tuple(dict.fromkeys(map(saying, dict.fromkeys((answer, *ended, *quoted, *marked)))))


Two = tuple[Memory, Memory]


def joined(pairs: Iterable[Two]) -> list[list[Two]]:
    """Pairs that say the same two things, by their contradiction: *Yes* denies *No* on many a question.

    Pairs of one contradiction share a memory, or their two questions, with each other or with others of it.
    """
    parts: list[tuple[set[object], list[Two]]] = []
    for two in pairs:
        marks: set[object] = {*(one.id for one in two), frozenset(said(one.prompt or "") for one in two)}
        near = [part for part in parts if not part[0].isdisjoint(marks)]
        parts = [part for part in parts if part not in near]
        parts.append((marks.union(*(known for known, _ in near)), [*(each for _, some in near for each in some), two]))
    return [some for _, some in parts]


def memory_id(pool: str, prompt: str | None, answer: str) -> UUID:
    """The same pair in the same pool is the same memory, whichever way it is spelled (`normal`)."""
    return derived_id("memory", pool, normal(prompt or ""), normal(answer))
