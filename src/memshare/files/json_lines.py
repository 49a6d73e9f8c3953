"""Files that people bring, of JSON lines or a table: each wrong line is named with its number and what is wrong."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from memshare.files.training_data import NAMES
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import loads, readable
from memshare_broker.wire.messages import AgentTask
from memshare_broker.wire.same_text import GZIP, decode, refuse_half_characters

_TOOLS = ("tools", "functions", "parallel_tool_calls", "tool_calls", "function_call", "tool_call_id")
_INSTRUCTIONS = ("system", "developer")
_BESIDE = ("memory_id", "rejected", "rejected_score", "rejected_prompt", "rejected_task_id")
"""Fields that memshare writes beside a conversation, and that a pair does not have."""


class NoExample(BadInput):
    """A line whose answer is marked as none to learn from."""


class _Said(NamedTuple):
    role: str
    text: str
    weight: object


def as_pair(line: dict[str, Any]) -> dict[str, Any]:
    """A line with a conversation, whose last turn is the answer, as one with `prompt` and `answer`; others as they are.

    Instructions (`system`, `developer`) are no part of a pair, nor are turns of the assistant with the weight 0. Of
    preferences the chosen answer counts. Raises `NoExample` where the answer has the weight 0, and `BadInput` and
    `ValidationError` for what is no such conversation.
    """
    form = next((name for name in ("messages", "conversations", "chosen") if name in line), None)
    if form is None:
        return line
    _refuse_tools(line)
    rest = {name: value for name, value in line.items() if name not in (form, *_BESIDE, *_TOOLS)}
    turns = _list(line[form])
    if form == "chosen":
        turns = [*_list(rest.pop("prompt", None)), *turns]
        rest |= {"score": rest.pop("chosen_score", None)}
    if "prompt" in rest or "answer" in rest:
        raise BadInput(f"give {form!r}, or 'prompt' and 'answer': not both")
    said = [one for one in map(_read, turns) if one.role not in _INSTRUCTIONS]
    if not said or said[-1].role != "assistant":
        raise BadInput(f"{form!r} is a list of turns that ends with the assistant's answer; this one ends otherwise")
    if said[-1].weight == 0:
        raise NoExample("its answer has the weight 0, so it is no example: leave the line out")
    *earlier, last = [one for one in said if one.weight != 0]
    task = AgentTask.model_validate({"messages": [{"role": one.role, "content": one.text} for one in earlier]})
    return rest | {"prompt": task.text, "answer": last.text}


def _list(turns: object) -> list[Any]:
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise BadInput("expected a list of turns, with 'role' and 'content', that ends with the assistant's answer")
    return turns


def _read(turn: dict[str, Any]) -> _Said:
    """A turn of either form; raises `BadInput` for one that is more than text."""
    known = {name: value for name, value in turn.items() if value not in (None, [])}
    _refuse_tools(known)
    sharegpt = known.pop("from", None)
    role = known.pop("role", next((ours for ours, theirs in NAMES.items() if theirs == sharegpt), sharegpt))
    if role in ("tool", "function"):
        raise BadInput(f"tool calls are not taken, and a turn has the role {role!r}")
    if role not in ("user", "assistant", *_INSTRUCTIONS):
        raise BadInput(f"a turn has the role {role!r}; expected user, assistant, system or developer")
    weight = known.pop("weight", 1) if role == "assistant" else 1
    if weight not in (0, 1):
        raise BadInput(f"a turn has the 'weight' {weight!r}; expected 0 or 1")
    text = _text(known.pop("value" if sharegpt else "content", None)) if "audio" not in known else ""
    if others := sorted(known.keys() - {"name"}):
        raise BadInput(f"a turn has {others[0]!r}; expected text alone, and 'weight' only with the assistant's")
    return _Said(role, text, weight)


def _text(content: object) -> str:
    """A text, or the parts of one."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, list):
        raise BadInput("a turn has no text as its 'content'")
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else part
        if kind != "text" or not isinstance(part.get("text"), str):
            raise BadInput(f"a turn has a part of the type {kind!r}; expected a 'text': no images, audio or files")
    return "".join(part["text"] for part in parts)


def _refuse_tools(given: dict[str, Any]) -> None:
    if found := [name for name in _TOOLS if given.get(name) not in (None, [])]:
        raise BadInput(f"tool calls are not taken, and the line has {found[0]!r}: give conversations of text alone")


T = TypeVar("T")
SHOWN_FAULTS = 5  # wrong lines
TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
"""How the names of tables end; every command that takes lines takes their rows."""
PROMPT, ANSWER = ("prompt", "question", "input"), ("answer", "output", "response", "completion")
"""Names of the columns of a table with its prompts, and with its answers."""
MOST_BYTES = 512 * 2**20  # of a file, unpacked
LOOKED_AT = 2**20  # bytes at its beginning that tell what it is
_BETWEEN = re.compile(r"[,\s]*")  # two elements of a list


def read_bytes(file: Path) -> bytes:
    """The bytes of a file ("-" is standard input), unpacked where it is gzip; raises `BadInput`, also for too many."""
    try:
        with contextlib.nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb") as raw:
            found = raw.read(MOST_BYTES + 1)
        if found.startswith(GZIP):
            found = gzip.GzipFile(fileobj=io.BytesIO(found)).read(MOST_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BadInput(f"{str(file)!r} is no whole gzip file: {error}. Pack or export it again.") from error
    except OSError as error:
        raise BadInput(f"{str(file)!r} cannot be read: {error.strerror}.") from error
    if len(found) > MOST_BYTES:
        raise BadInput(f"{str(file)!r} has more than {MOST_BYTES:,} bytes, unpacked: split it, and take each part.")
    return found


def called(file: Path) -> str:
    """The name of a file in sentences."""
    return "standard input" if str(file) == "-" else str(file)


def empty(such: str) -> str:
    """The words on a file in which nothing stands, where lines are `such`."""
    return f"is empty: expected lines such as {such}, or a table, called NAME.csv"


def beginning(file: Path) -> str:
    """How a file begins that can be read twice, unpacked, whatever is no UTF-8 in it; of any other no text."""
    try:
        if not file.is_file():
            return ""
        with file.open("rb") as raw:
            is_packed = raw.read(len(GZIP)) == GZIP
        with gzip.open(file) if is_packed else file.open("rb") as unpacked:
            return unpacked.read(LOOKED_AT).decode(errors="replace").lstrip("\ufeff \r\n")
    except (OSError, EOFError, zlib.error):  # as who reads it says
        return ""


def read_lines(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not empty, with their numbers; raises `BadInput` for the file itself."""
    return numbered(decode(read_bytes(file), called(file)))


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a text that are not empty, with their numbers: of one list of JSON objects, a line for each.

    An object that is written over several lines is one line; so is a list that is broken, at the place where it is.
    """
    first = 1 + text.count("\n", 0, len(text) - len(text.lstrip()))
    try:
        return enumerate(_elements(text), 1) if isinstance(json.loads(text), list) else iter([(first, text)])
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith("["):
            return iter([(getattr(error, "lineno", 1), text)])
    # Not splitlines: a JSON string may hold characters, such as U+2028, at which that would cut it.
    return ((number, line) for number, line in enumerate(re.split(r"\r\n?|\n", text), 1) if line.strip())


def _elements(text: str) -> list[str]:
    """The texts of the elements of a JSON list."""
    found, at = list[str](), _BETWEEN.match(text, text.index("[") + 1)
    while at is not None and text[at.end()] != "]":
        _, end = json.JSONDecoder().raw_decode(text, at.end())
        found.append(text[at.end() : end])
        at = _BETWEEN.match(text, end)
    return found


def read_object(line: str) -> dict[str, Any]:
    """A line as a JSON object; raises `BadInput`."""
    try:
        value = loads(line)
    except json.JSONDecodeError as error:
        raise BadInput(
            f"no JSON: {error.msg} at column {error.colno}; expected an object, {{…}}, in its line"
        ) from error
    except RecursionError as error:
        raise BadInput("no JSON that is taken: lists or objects stand in each other too deep") from error
    except ValueError as error:
        raise BadInput(f"no JSON that is taken: {error}") from error
    if not isinstance(value, dict):
        raise BadInput(f"expected a JSON object, found {type(value).__name__}")
    refuse_half_characters(value, "the line")
    return value


def is_table(name: str, text: str) -> bool:
    """True for a table by its name, or by a first line that names a prompt and an answer."""
    first = text.lstrip("\r\n").partition("\n")[0].casefold()
    columns = {cell.strip(' "\r') for cell in re.split("[,;\t]", first)}
    is_named = not first.startswith("{") and not (columns.isdisjoint(PROMPT) or columns.isdisjoint(ANSWER))
    return is_named or name.lower().endswith(TABLES)


def table_rows(text: str, name: str, *, certain: bool) -> Iterator[tuple[int, dict[str, Any] | BadInput]]:
    """The rows of a table by its header, with the numbers of the lines they begin at; cells that hold JSON are read.

    Cells that are empty are None. A row that is none, or a header that names two columns alike, is a `BadInput`. Raises
    it for what is no table; one column is none, unless it is `certain`.
    """
    body = re.sub(r"\A[\r\n]*(sep=.[\r\n]+)?", "", text)  # a spreadsheet may say first what stands between cells
    header, before = io.StringIO(body, newline="").readline(), text.count("\n", 0, len(text) - len(body))
    csv.field_size_limit(MOST_BYTES)
    delimiter = max("\x1f,;\t", key=re.sub('"[^"]*"', "", header).count)  # one column may have commas
    rows = csv.reader(io.StringIO(body, newline=""), delimiter=delimiter, strict=True)
    columns, begins = list[str](), before + 1
    try:
        for cells in rows:
            line, begins = begins, before + rows.line_num + 1
            if not columns:
                columns = [cell.strip() for cell in cells]
                if len(columns) < 2 and not certain:
                    raise BadInput(
                        f"{name} is neither JSON nor a table: expected a first line with a name for each column."
                    )
                small = [cell.casefold() for cell in columns]
                if twice := next((one for one in small if one and small.count(one) > 1), ""):
                    yield line, BadInput(f"the header has two columns {twice!r}: rename one, or take it out")
            elif any(cells[len(columns) :]):
                yield line, BadInput(f"more cells than the header has columns ({len(columns)}). {_QUOTED}")
            elif any(cells):
                yield line, dict.fromkeys(columns) | dict(zip(columns, map(_cell, cells), strict=False))
    except csv.Error as error:
        yield begins, BadInput(f"no row of a table: {error}. {_QUOTED}")


_QUOTED = 'A text with commas or quotes stands in quotes, and a quote in it is written twice ("").'


def _cell(text: str) -> object:
    if text.strip().startswith(("[", "{")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text if text.strip() else None


def _fields(row: dict[str, Any]) -> dict[str, Any]:
    """The cells of a row that are not empty, by the names that fields of a line have."""
    ours = dict.fromkeys(PROMPT, "prompt") | dict.fromkeys(ANSWER, "answer")
    return {ours.get(name.casefold(), name.casefold()): cell for name, cell in row.items() if cell is not None}


def read_objects(
    file: Path, what: str, made: Callable[[dict[str, Any]], T], such: str = ""
) -> tuple[list[tuple[int, T]], list[str]]:
    """The object made of each line or row of a file, with its number; and the faults of others, which `what` calls.

    Where it is told what a line looks like, it raises `BadInput` for a file in which nothing stands, and for one
    without JSON that is no table by its name.
    """
    name, found, faults = called(file), [], []
    text = decode(read_bytes(file), name)
    by_name = name.lower().endswith(TABLES)
    if such and not by_name and text.strip()[:1] not in "{[":
        raise BadInput(
            f"{name} has no JSON: expected an object in each line, such as {such}, or a table, called NAME.csv."
        )
    lines: Iterator[tuple[int, str | dict[str, Any] | BadInput]] = (
        table_rows(text, name, certain=True) if by_name else numbered(text)
    )
    for number, line in lines:
        try:
            if isinstance(line, BadInput):
                raise line
            found.append((number, made(read_object(line) if isinstance(line, str) else _fields(line))))
        except ValidationError as error:
            faults.append(f"{name}:{number}: {readable(error, what)}")
        except BadInput as error:
            faults.append(f"{name}:{number}: {error}")
    if such and not found and not faults:
        raise BadInput(
            f"{name} has a header and no rows: expected rows, with the fields of {such} as columns."
            if by_name and text.strip()
            else f"{name} {empty(such)}."
        )
    return found, faults


def read_messages(file: Path) -> list[dict[str, Any]]:
    """A conversation in a file ("-" is standard input): a list of turns, or an object with it as `messages`.

    Raises `BadInput` for what is neither; what the turns must be is for the task to say.
    """
    name = called(file)
    text = decode(read_bytes(file), name).strip()
    turns = read_object(text if text.startswith("{") else f'{{"messages": {text or "null"}}}').get("messages")
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise BadInput(f'{name} is no conversation: expected JSON such as [{{"role": "user", "content": "…"}}].')
    return turns


def refuse(faults: Sequence[str], so: str) -> None:
    """Raises `BadInput` that names the first wrong lines, if there are any; `so` is what follows from it."""
    if faults:
        left = len(faults) - SHOWN_FAULTS
        more = f"\n… and {left:,} more line{'s' * (left > 1)}" if left > 0 else ""
        raise BadInput(f"{so}\n" + "\n".join(faults[:SHOWN_FAULTS]) + more)
