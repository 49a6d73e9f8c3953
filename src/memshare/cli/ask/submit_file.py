"""`memshare submit --file`: many tasks, each submitted once, with results that are written as they come."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import typer
from filelock import lock_descriptor

from memshare.client.client import Client
from memshare.files.json_lines import read_object, read_objects, refuse
from memshare.learn.bootstrap import Hints
from memshare.terminal.console import bars, errors, in_json, print_json, print_text, stopping
from memshare.terminal.ids import counted
from memshare_broker.errors import BadInput, MemshareError, QueueFull, Unreachable
from memshare_broker.settings import OFFLINE
from memshare_broker.wire.messages import derived_id
from memshare_broker.wire.same_text import decode

AT_ONCE = 100  # tasks that are submitted between two looks for results
LOOK_EVERY = 0.1  # seconds
LOOKING = 0.1  # share of the time that is spent on looking for results, at most
QUIET = 5.0  # seconds without a result, after which it is said what it waits for

Progress = Callable[[int, int], None]
"""Is told how many tasks are submitted, and how many of these have a result."""


@dataclass(frozen=True)
class TaskLine:
    """A line of the file that is right: its agent, its task, and the id that the same line has in every run."""

    number: int
    task_id: str
    agent: str
    body: dict[str, Any]


_SUCH = '{"agent": "logic", "prompt": "…"}'


def read_tasks(client: Client, file: Path, defaults: dict[str, Any], run: str) -> tuple[list[TaskLine], list[str]]:
    """The tasks of a file, and what is wrong with its other lines. A line's own fields win over the defaults.

    The ids are derived from `run` and from what the lines say, so that inserted lines leave the others' as they are.
    """
    given = {name: value for name, value in defaults.items() if value is not None}
    seen: Counter[tuple[str, str]] = Counter()

    def made(line: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
        body = given | line
        agent = body.pop("agent", None)
        if not isinstance(agent, str):
            raise BadInput('no agent: give one as "agent" in the line, or before --file')
        said = agent, client.check(agent, body).model_dump_json(exclude_defaults=True)
        seen[said] += 1
        return str(derived_id("line", run, *said, str(seen[said] - 1))), agent, body

    found, faults = read_objects(file, "the line", made, _SUCH)
    return [TaskLine(number, *line) for number, line in found], faults


def submit_all(client: Client, lines: Sequence[TaskLine], priority: int) -> Iterator[TaskLine]:
    """Submit the tasks as fast as the queues take them; each is given when it is in its queue."""
    hints = Hints(client, {line.agent for line in lines})
    for line in lines:
        while not _submit_line(client, line, priority, hints):
            time.sleep(LOOK_EVERY)
        yield line


def answers(
    client: Client,
    lines: Sequence[TaskLine],
    priority: int,
    patience: float,
    progress: Progress = lambda *_: None,
) -> Iterator[dict[str, Any]]:
    """Submit the tasks, and give the result of each when it is there: the answer, or the `error` of one given up.

    Ends early when no result has come for `patience` seconds.
    """
    to_submit, waiting = deque(lines), dict[str, TaskLine]()
    hints, came = Hints(client, {line.agent for line in lines}), time.monotonic()
    while to_submit or waiting:
        room = True
        for line in list(islice(to_submit, AT_ONCE)):
            if not (room := _submit_line(client, line, priority, hints)):
                break
            waiting[line.task_id] = to_submit.popleft()
        begun = time.monotonic()
        for task_id in client.answered(list(waiting)):
            yield _line_result(client, waiting.pop(task_id))
            came = time.monotonic()
        submitted = len(lines) - len(to_submit)
        progress(submitted, submitted - len(waiting))
        quiet = time.monotonic() - came
        if quiet > patience:
            return
        if quiet > QUIET:
            hints.look(set(waiting))
        if not to_submit or not room:
            time.sleep(max(LOOK_EVERY, (time.monotonic() - begun) / LOOKING))


def _submit_line(client: Client, line: TaskLine, priority: int, hints: Hints) -> bool:
    """Submit one task; False when its queue has no room."""
    try:
        client.submit_task(line.agent, line.body, priority, line.task_id)
    except QueueFull as full:
        hints.say(f"The queue {line.agent!r} is full ({full.length:,} open): waiting for room.")
        return False
    return True


def _line_result(client: Client, line: TaskLine) -> dict[str, Any]:
    try:
        return {"line": line.number, **_ids(line), **client.result(line.task_id).get()}
    except MemshareError as error:
        return {"line": line.number, **_ids(line), "error": str(error)}


def _ids(line: TaskLine) -> dict[str, str]:
    """The id of a line's task by both names: that of a journey, and that of a result."""
    return {"id": line.task_id, "task_id": line.task_id}


SHOWN_ERRORS = 5
GO_ON = "What is queued goes on by itself. Run the same command again to go on: what is done is not paid for again."


def submit_file(
    client: Client,
    file: Path,
    defaults: dict[str, Any],
    *,
    run: str,
    out: Path | None,
    patience: float | None,
    priority: int,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Submit every line of a file; with `patience`, in seconds, wait for the results, and write or print them.

    Raises `BadInput` that names the wrong lines, before anything is submitted, unless they are to be skipped.
    """
    lines, faults = read_tasks(client, file, defaults, run)
    if not skip_bad:
        refuse(faults, "Nothing was submitted; --skip-bad leaves these lines out.")
    for fault in faults:
        errors.print(f"Left out: {fault}", style="yellow")
    try:
        with stopping(GO_ON):
            if patience is None:
                _submit(client, lines, priority, as_json)
                return
            # The file for the results is opened first: what cannot be written is known before anything is paid for.
            with results_file(out, {line.task_id for line in lines}) if out else contextlib.nullcontext() as results:
                _answer(client, lines, priority, patience, results)
    except Unreachable as error:
        raise Unreachable(f"{error} {GO_ON}") from error


def _submit(client: Client, lines: list[TaskLine], priority: int, as_json: bool) -> None:
    with bars() as bar:
        task = bar.add_task("Submitted", total=len(lines))
        for line in submit_all(client, lines, priority):
            print_json({"line": line.number, **_ids(line)}) if as_json else print_text(line.task_id)
            bar.advance(task)
    errors.print(f"{counted(len(lines), 'line')} submitted.")


def asking(client: Client, agents: Collection[str], timeout: float) -> str:
    """The agents that are asked, with their models, and where there is one how long a call of it may take, how often
    it is tried, and for how many seconds all of it is waited for."""
    cards, call = client.agents(), client.settings.model_timeout
    named = (f"{name} ({cards[name].model})" if name in cards else name for name in sorted(agents))
    has_model = any(name not in cards or cards[name].model != OFFLINE for name in agents)
    tries = f" a call, {counted(client.settings.tries, 'try', 'tries')}, {timeout:g} s in all" * (call < timeout)
    return f"Asking {', '.join(named)}{f', up to {min(call, timeout):g} s{tries}' if has_model else ''}"


def _answer(client: Client, lines: list[TaskLine], priority: int, patience: float, results: ResultsFile | None) -> None:
    """Write or print the results that are not there yet, and end with status 1 where some are missing or failed."""
    missing = [line for line in lines if results is None or line.task_id not in results.answered]
    before, came = len(lines) - len(missing), 0
    failed: list[str] = []
    if missing:
        errors.print(f"{asking(client, {line.agent for line in missing}, patience)}, for the next of their answers")
    with bars() as bar:
        submitted, answered = (bar.add_task(name, total=len(lines)) for name in ("Submitted", "Answered"))

        def progress(sent: int, ended: int) -> None:
            bar.update(submitted, completed=before + sent)
            said = f"Given up {len(failed)}, answered" if failed else "Answered"
            bar.update(answered, completed=before + ended - len(failed), description=said)

        progress(0, 0)
        for result in answers(client, missing, priority, patience, progress):
            came += 1
            if result.get("error"):
                failed.append(f"line {result['line']}: {result['error']}")
            if results is not None:
                results.write(result)
            else:
                print_json(result)
                sys.stdout.flush()
    there = f"{before} of them before; " if before else ""
    errors.print(
        f"{before + came - len(failed)} of {counted(len(lines), 'line')} answered; {there}{len(failed)} given up."
    )
    _say_what_is_left(failed, len(missing) - came, patience)


def _say_what_is_left(failed: list[str], unanswered: int, patience: float) -> None:
    for error in failed[:SHOWN_ERRORS]:
        errors.print(error, style="red")
    if len(failed) > SHOWN_ERRORS:
        errors.print(f"And {len(failed) - SHOWN_ERRORS} more.", style="red")
    if failed:
        errors.print(
            "`memshare dead list` shows them, unless they were dropped; after `memshare dead retry --all`, the same"
            " command goes on. With `--run` and a new name it asks all lines anew."
        )
    if unanswered:
        errors.print(
            f"{counted(unanswered, 'line has', 'lines have')} no answer, and none came for {patience:g} s. What has"
            " none stays in its queue: the same command goes on.",
            style="yellow",
        )
    if failed or unanswered:
        raise typer.Exit(1)


BEGINS = b'{"line":'  # every line of ours


class ResultsFile:
    """An open file of results, one JSON object a line, and what was in it before."""

    def __init__(self, file: BinaryIO, results: list[dict[str, Any]]) -> None:
        self._file = file
        self.answered = {one["task_id"] for one in results if not one.get("error")}
        """Ids of the tasks whose answers are there."""
        self.failed = {one["task_id"]: one["error"] for one in results if one.get("error")}

    def write(self, result: dict[str, Any]) -> None:
        """Append a result, unless it is there."""
        if result.get("error") and self.failed.get(result["task_id"]) == result["error"]:
            return
        self._file.write(f"{in_json(result)}\n".encode())
        self._file.flush()


@contextmanager
def results_file(path: Path, task_ids: Collection[str]) -> Iterator[ResultsFile]:
    """The file of the results of these tasks; it is made where there is none.

    Raises `BadInput` for a file that cannot be written, that another command writes to, or that holds anything else.
    """
    try:
        with path.open("a+b") as file:
            if not lock_descriptor(file.fileno(), blocking=False):
                raise BadInput(f"Another command writes to {str(path)!r}: wait for it, or give another --out.")
            file.seek(0)
            raw = file.read()
            end = raw.rfind(b"\n") + 1
            whole, torn = decode(raw[:end], str(path)).split("\n")[:-1], raw[end:]
            results = [_result(path, number, line, task_ids) for number, line in enumerate(whole, 1)]
            if torn:  # the command before was ended in the middle of a line
                if not torn.startswith(BEGINS[: len(torn)]):
                    _refuse(path, len(whole) + 1, "it is no result")
                file.truncate(end)
            yield ResultsFile(file, results)
    except OSError as error:
        raise BadInput(f"{str(path)!r} cannot be written: {error.strerror}.") from error


def _result(path: Path, number: int, line: str, task_ids: Collection[str]) -> dict[str, Any]:
    try:
        result = read_object(line)
    except BadInput as error:
        _refuse(path, number, str(error))
    if "line" not in result or result.get("task_id") not in task_ids:
        _refuse(path, number, "it is the result of none of these tasks")
    return result


def _refuse(path: Path, number: int, why: str) -> None:
    raise BadInput(
        f"{path}:{number}: {why}. The file stays as it is: give another with --out, or remove it. Results are added to"
        " a file of the same command alone."
    )
