"""The records of a file that another tool wrote: JSON, JSON lines or a table (CSV)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from memshare.files.json_lines import TABLES, numbered, read_object, refuse, table_rows
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import LATEST
from memshare_broker.wire.messages import written

Record = dict[str, Any]


def records_of(text: str, name: str, source: str) -> list[tuple[int, Record | BadInput]]:
    """The objects of JSON, of JSON lines, or a table's rows, each with the number of its line.

    Pages of an API (`{"data": […]}`) are taken apart. Raises `BadInput` that names the wrong ones; a wrong row is one.
    """
    text = text.lstrip("\ufeff")
    if not text.lstrip().startswith(("{", "[")):
        is_table = source == "table" or name.lower().endswith(TABLES)
        if not text.strip():
            raise BadInput(f"Nothing was imported: {name} is empty. Export it again, or choose another.")
        return [*table_rows(text, name, certain=is_table)]
    found, faults = list[tuple[int, Record | BadInput]](), list[str]()
    for number, line in numbered(text):
        try:
            record = read_object(line)
            page = record.get("data")
            records = page if isinstance(page, list) and all(isinstance(one, dict) for one in page) else [record]
            found += [(number, one) for one in records]
        except BadInput as error:
            faults.append(f"{name}:{number}: {error}")
    refuse(faults, "Nothing was imported.")
    return found


_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system", "function": "tool"}
_PROMPTS = ("prompt", "question", "input", "query", "user_input", "text", "content", "value")
_ANSWERS = ("answer", "output", "response", "completion", "result", "text", "content", "value")
DEEPEST = 6  # wrappers around a text
LOOKED_AT = 20  # steps of a trace, for a field that the run's own does not have


class GivenScore(NamedTuple):
    """A score that somebody gave: the id of the step or the trace it is of, its name, and a number or a label."""

    about: str
    name: str
    value: object


class TraceStep(NamedTuple):
    """A step of a trace, with what went in and out as its tool wrote it; `fields` is the whole record."""

    id: str
    trace: str
    parent: str
    asked: object
    said: object
    fields: Mapping[str, Any]
    when: float | None = None
    model: object = None
    is_tool: bool = False
    place: str = ""


class GradedRun(NamedTuple):
    """A prompt and its answer, with the values of each of its scores. A text that is not known is None."""

    id: str
    prompt: str | None
    answer: str | None
    scores: Mapping[str, Sequence[object]]
    fields: Sequence[Mapping[str, Any]]
    """The record of the run's step, then those of the trace's first steps."""
    when: float | None
    model: str | None
    calls_tools: bool
    places: Sequence[str]
    """Where it stands in its file: its id, or the lines of a table that say the same."""
    fault: str = ""
    """Why it is no run: of a row that cannot be read."""


NO_RUN = GradedRun("", None, None, {}, ({},), None, None, False, ())


def runs_of(found: Sequence[TraceStep | GivenScore]) -> Iterator[GradedRun]:
    """The topmost steps of each trace that have both texts, or its first step where none has.

    A score of a step or a trace is the run's; so is any of the trace where it is the only run and has none itself.
    """
    given: defaultdict[str, defaultdict[str, list[object]]] = defaultdict(lambda: defaultdict(list))
    traces: defaultdict[str, dict[str, TraceStep]] = defaultdict(dict)
    places: defaultdict[str, list[str]] = defaultdict(list)
    for one in found:
        if isinstance(one, TraceStep):
            traces[one.trace][one.id] = one
            places[one.trace] += filter(None, [one.place])
        else:
            given[one.about][one.name].append(one.value)
    for trace, own in traces.items():
        texts = {one.id: (StepText(one.asked, _PROMPTS), StepText(one.said, _ANSWERS)) for one in own.values()}
        whole = {
            name for name, (asked, said) in texts.items() if asked.prompt and said.answer and not own[name].is_tool
        }
        tools = any(one.is_tool for one in own.values()) or any(one.calls for pair in texts.values() for one in pair)
        tops = [one for name, one in own.items() if name in whole and not _below(own, one.parent, whole)]
        first = [one.fields for one in own.values()][:LOOKED_AT]
        model = next((one.model for one in own.values() if isinstance(one.model, str)), None)
        for top in tops or list(own.values())[:1]:
            scores = {**given[top.id], **given[trace]}
            if not scores and len(tops) == 1:
                scores = {name: values for one in own for name, values in given[one].items()}
            asked, said = texts[top.id]
            name = trace if len(tops) <= 1 else top.id
            fields = [top.fields, *first]
            where = places[trace] or [name]
            yield GradedRun(name, asked.prompt, said.answer, scores, fields, top.when, model, tools, where)


def _below(steps: Mapping[str, TraceStep], parent: str, whole: set[str]) -> bool:
    """True if a step has an ancestor with both texts; a stranger's ancestors may go in a circle."""
    seen = set[str]()
    while parent in steps and parent not in seen and len(seen) < 1_000:
        if parent in whole:
            return True
        seen.add(parent)
        parent = steps[parent].parent
    return False


class StepText:
    """The text of what went in or came out of a step: a text, a conversation, or an object around one of them."""

    def __init__(self, value: object, names: Sequence[str]) -> None:
        self.calls = False
        """True if a tool is called, or answers."""
        self._turns: list[tuple[str, str]] = []
        self._text = self._read(value, names)

    @property
    def prompt(self) -> str | None:
        """The conversation up to the task, as it is remembered; instructions are no part of it."""
        turns = [one for one in self._turns if one[0] != "system"]
        return written(turns) if len(turns) > 1 else turns[0][1] if turns else self._text

    @property
    def answer(self) -> str | None:
        """The last turn of the assistant."""
        said = [text for role, text in self._turns if role == "assistant"] or [text for _, text in self._turns]
        return said[-1] if said else self._text

    def _read(self, value: object, names: Sequence[str]) -> str | None:
        whole = value
        for _ in range(DEEPEST):
            value = _unpacked(value)
            if not value or (isinstance(value, str) and not value.strip()):
                return None
            match value:
                case str():
                    return value
                case [[dict(), *_] as inner] | {"messages": [list(inner), *_]}:
                    value = inner
                case {"messages": list(inner)}:
                    value = inner
                case {"choices": [{"message": inner}, *_]} | {"generations": [[inner, *_], *_]}:
                    value = inner
                case {"args": [inner], "kwargs": {}} | {"args": [], "kwargs": inner}:
                    value = inner
                case {"role": _} | {"type": "human" | "ai"} | {"kwargs": {"content": _}} | {"message": {}}:
                    value = [value]
                case [*some] if all(map(_is_turn, some)):
                    self._turns = [turn for one in some if isinstance(one, dict) and (turn := self._turn(one))]
                    return None
                case dict():
                    known = next((name for name in names if value.get(name) not in (None, "")), None)
                    only = (
                        next(iter(value)) if len(value) == 1 and isinstance(next(iter(value.values())), str) else None
                    )
                    if (name := known or only) is None:
                        break
                    value = value[name]
                case _:
                    break
        return whole if isinstance(whole, str) else json.dumps(whole, ensure_ascii=False)

    def _turn(self, one: dict[str, Any]) -> tuple[str, str] | None:
        """A turn's role and text; None for one without text."""
        one = _inner(one)
        role = str(one.get("role") or one.get("type"))
        role = _ROLES.get(role, role)
        more = one.get("additional_kwargs")
        calls = one.get("tool_calls") or one.get("function_call") or (isinstance(more, dict) and more.get("tool_calls"))
        text, parts = one.get("content"), one.get("content") or one.get("parts")
        if isinstance(parts, list):
            typed = [part for part in parts if isinstance(part, dict)]
            calls = calls or any("tool" in str(part.get("type")) for part in typed)
            said = [part.get("text") or part.get("content") for part in typed if part.get("type") == "text"]
            text = "".join(part for part in said if isinstance(part, str))
        self.calls = self.calls or bool(calls) or role == "tool"
        return (role, text) if isinstance(text, str) and text.strip() else None


def _unpacked(value: object) -> object:
    """The value of a text that is JSON of an object or a list; any other as it is."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _inner(one: dict[str, Any]) -> dict[str, Any]:
    """The object that has a turn's role and content."""
    for name in ("message", "kwargs"):
        one = inner if isinstance(inner := one.get(name), dict) else one
    return {name.removeprefix("message."): value for name, value in one.items()}


def _is_turn(one: object) -> bool:
    return isinstance(one, dict) and bool(_inner(one).keys() & {"role", "type"})


def moment(value: object) -> float | None:
    """A time as Unix time in seconds: ISO 8601, or nanoseconds; None for what is none."""
    try:
        if isinstance(value, str) and not value.isdecimal():
            at = datetime.fromisoformat(value)
            seconds = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
        else:
            seconds = float(str(value)) / 1e9
    except (ValueError, OverflowError):
        return None
    return seconds if 0 <= seconds <= LATEST else None
