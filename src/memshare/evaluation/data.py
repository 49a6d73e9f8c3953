"""The data of an experiment: question-answer pairs from files, split into seeds, queries and a test set."""

from __future__ import annotations

import random
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from memshare.files.json_lines import as_pair, read_objects, refuse
from memshare_broker.errors import BadInput
from memshare_broker.presence import AgentCard
from memshare_broker.wire.messages import Message, derived_id
from memshare_memory.memory import folded

YES, NO = "yes", "no"
CLOSED = {YES, NO}
"""Answers that many questions have."""
_OWN_FIELDS = ("claim", "evidence", "cited_doc_ids", "utterance", "targetValue", "question", "answers", "answer")
_VERDICTS = {"SUPPORT": YES, "CONTRADICT": NO}
_DESCRIBED = re.compile(r'\(description (?:"([^"]*)"|([^()]*))\)')


def as_item(line: dict[str, Any]) -> dict[str, Any]:
    """A line of these data sets as one with `prompt` and `answer`, of several answers the first; any other as it is.

    A pair of claims has no prompt, and the claim that is right as its answer, until a model writes both.

    Raises `BadInput` where no answer stands in it, as in test sets that are kept back.
    """
    match line:
        case {"supported": str(claim), "contradicted": str(other)}:
            return line | {"answer": claim, "statement": claim, "changed_statement": other}
    asked = question_of(line)
    if asked is None:
        return line
    prompt, answers = asked
    beside = {name: value for name, value in line.items() if name not in _OWN_FIELDS}
    return beside | {"prompt": prompt, "answer": answers[0]}


def question_of(line: dict[str, Any]) -> tuple[str, list[str]] | None:
    """The question of a line of these data sets with all its answers; None for any other line.

    Raises `BadInput` where no answer stands in it.
    """
    match line:
        case {"claim": str(claim), "evidence": dict(evidence)}:
            return f"Is it right, yes or no? {claim}", [_verdict(evidence)]
        case {"utterance": str(question), "targetValue": str(target)}:
            return question, _texts(_DESCRIBED.findall(target))
        case {"question": str(question), "answers": list(answers)}:
            return question, _texts(answers)
        case {"prompt": str(question), "answers": list(answers)} if "answer" not in line:
            return question, _texts(answers)
        case _:
            return None


def claim_of(line: dict[str, Any]) -> tuple[str, dict[str, str]] | None:
    """A claim of SciFact, and what each document says of it: yes or no; None for any other line.

    Raises `BadInput` where a document says neither.
    """
    match line:
        case {"claim": str(claim), "evidence": dict(evidence)}:
            return claim, {document: _verdict({document: found}) for document, found in evidence.items()}
        case _:
            return None


def _texts(answers: list[Any]) -> list[str]:
    """Answers as texts: they are texts, objects with one as `answer`, or stood in a description."""
    texts = []
    for one in answers:
        match one:
            case {"answer": str(text)} | str(text) | (str(text), "") | ("", str(text)) if text.strip():
                texts.append(text.strip())
    if not texts:
        raise BadInput("no answer stands in the line: give data whose answers are known")
    return texts


def _verdict(evidence: dict[str, Any]) -> str:
    """The verdict that a claim's documents give."""
    match list(evidence.values()):
        case [[{"label": str(label)}, *_], *_] if label in _VERDICTS:
            return _VERDICTS[label]
    raise BadInput("no evidence supports or contradicts the claim: leave such claims out")


SEEDS, QUERIES = 0.2, 0.4  # of the items of a kind; the others are the test set (INMS, arXiv 2404.09982)

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class DataLine(BaseModel):
    """A line of a file. Further fields in it, such as its source, are left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    agent: str
    kind: str | None = None
    prompt: Text | None = None
    answer: Text
    statement: Text | None = None
    changed: Text | None = None
    changed_statement: Text | None = None


class DataItem(Message):
    """A question and its standard answer. The question may have to be asked for first."""

    id: str
    agent: str
    kind: str | None
    prompt: str | None
    answer: str
    statement: str | None = Field(default=None, description="that says the answer in other words than the question's")
    changed: str | None = Field(default=None, description="another answer")
    changed_statement: str | None = Field(default=None, description="that says that one")

    @property
    def label(self) -> str:
        """The kind, or the agent where there is none."""
        return self.kind or self.agent


class FileReport(Message):
    """Contents of a file: items, and the number dropped because their question or answer had been there."""

    file: str
    items: int
    dropped: int


class Split(NamedTuple):
    """The three parts, which share no question and no answer."""

    seeds: tuple[DataItem, ...]
    queries: tuple[DataItem, ...]
    test: tuple[DataItem, ...]

    @property
    def all(self) -> tuple[DataItem, ...]:
        return (*self.seeds, *self.queries, *self.test)


def read_items(
    files: Sequence[Path],
    agents: Mapping[str, AgentCard],
    agent: str | None = None,
    kind: str | None = None,
    takes: Callable[[DataItem], bool] = lambda _: True,
) -> tuple[list[DataItem], list[FileReport]]:
    """The items of all files, each question and each answer once; raises `BadInput` that names the wrong lines.

    `agent` and `kind` stand in where a line names none. What it does not take is left out.
    """
    given = {name: value for name, value in (("agent", agent), ("kind", kind)) if value is not None}
    items, reports, faults = list[DataItem](), list[FileReport](), list[str]()
    seen: set[tuple[str, str]] = set()
    for file in files:
        found = dropped = 0
        lines, wrong = read_objects(file, "the item", lambda line: _item(given | as_item(as_pair(line)), agents))
        faults += wrong
        for _, item in lines:
            if not takes(item):
                continue
            once = (("q", item.prompt), ("a", item.answer if item.answer not in CLOSED else None))
            marks = {(part, same_text(said)) for part, said in once if said}
            if seen & marks:
                dropped += 1
            else:
                items.append(item)
                found += 1
            seen |= marks
        reports.append(FileReport(file=file.name, items=found, dropped=dropped))
    refuse(faults, "Nothing was started.")
    return items, reports


def same_text(text: str) -> str:
    """The same for texts that differ in case, white space or punctuation alone."""
    words = "".join(" " if unicodedata.category(letter)[0] in "PZC" else letter for letter in text)
    return folded(words) or folded(text)


def stands_in(words: str, text: str) -> bool:
    """True if words stand in a text, as whole words, whatever their case and white space."""
    return re.search(rf"(?<!\w){re.escape(folded(words))}(?!\w)", folded(text)) is not None


def lacks(item: DataItem, needs: Sequence[str]) -> bool:
    """True if a question, or something that an experiment needs beside it, has to be written."""
    return bool(needs) and not all(getattr(item, name) for name in ("prompt", *needs))


def all_asked(items: Sequence[DataItem], needs: Sequence[str], most: int | None = None) -> Split:
    """All items, or the first `most` of them, as the test set.

    Raises `BadInput` where an item has no prompt, nor a statement from which a model could write what it `needs`.
    """
    for item in items:
        if item.prompt is None and not (needs and item.statement):
            wanted = f"prompt{' or statement' if needs else ''}"
            raise BadInput(f"Each line of this experiment has {wanted}; {item.answer[:60]!r} has not.")
    return Split(seeds=(), queries=(), test=tuple(items[:most]))


def split(items: Sequence[DataItem], seed: int, most: int | None = None) -> Split:
    """20 % seeds, 40 % queries and 40 % test of each kind, drawn by the seed; `most` items of a kind are used."""
    by_kind = defaultdict(list)
    for item in items:
        by_kind[item.agent, item.kind or ""].append(item)
    parts: tuple[list[DataItem], list[DataItem], list[DataItem]] = ([], [], [])
    for name, group in sorted(by_kind.items()):
        drawn = sorted(group, key=lambda item: item.id)
        random.Random(f"{seed} {name}").shuffle(drawn)
        drawn = drawn[:most]
        seeds, queries = round(len(drawn) * SEEDS), round(len(drawn) * (SEEDS + QUERIES))
        for part, some in zip(parts, (drawn[:seeds], drawn[seeds:queries], drawn[queries:]), strict=True):
            part.extend(some)
    made = Split(*(tuple(part) for part in parts))
    if not made.seeds or not made.queries:
        raise BadInput(f"{len(items)} items are too few to split: it takes at least 5 of a kind.")
    return made


def _item(value: Mapping[str, Any], agents: Mapping[str, AgentCard]) -> DataItem:
    line = DataLine.model_validate(value)
    card = agents.get(line.agent)
    if card is None:
        raise BadInput(f"no agent is called {line.agent!r}; there are {', '.join(agents)}")
    if line.kind is not None and line.kind not in card.kinds:
        raise BadInput(f"agent {line.agent!r} has no kind {line.kind!r}; it has {', '.join(card.kinds) or 'none'}")
    name = str(derived_id("item", line.agent, line.kind or "", line.prompt or "", line.answer))
    return DataItem(id=name, **line.model_dump())
