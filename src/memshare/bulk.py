"""Many tasks from a file of JSON lines, and one result for each line."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from celery.exceptions import TimeoutError as CeleryTimeoutError
from rich.progress import track

from memshare.broker.connection import reaching
from memshare.broker.errors import BadInput, MemshareError, QueueFull
from memshare.client import Client
from memshare.console import errors

LOOK_EVERY = 5.0  # seconds, while a queue is full
SHOWN_FAULTS = 5  # wrong lines


@dataclass(frozen=True)
class Line:
    """One line of the file: what it was submitted as, or why it was not."""

    number: int
    task_id: str | None = None
    error: str | None = None


def read_lines(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not empty, with their numbers; raises `BadInput` for the file itself."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise BadInput(f"{str(file)!r} cannot be read: {reason}.") from error
    # Not splitlines: a JSON string may hold characters, such as U+2028, at which that would cut it.
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def read_object(line: str) -> dict[str, Any]:
    """A line as a JSON object; raises `BadInput`."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadInput(f"no JSON: {error.msg} at column {error.colno}") from error
    if not isinstance(value, dict):
        raise BadInput(f"expected a JSON object, found {type(value).__name__}")
    return value


def refuse(faults: Sequence[str], so: str) -> None:
    """Raises `BadInput` that names the first wrong lines, if there are any; `so` is what follows from it."""
    if faults:
        more = f"\n… and {len(faults) - SHOWN_FAULTS} more lines" if len(faults) > SHOWN_FAULTS else ""
        raise BadInput(f"{so}\n" + "\n".join(faults[:SHOWN_FAULTS]) + more)


def submit_lines(client: Client, file: Path, defaults: dict[str, Any], priority: int) -> list[Line]:
    """Submit every line that is right, as fast as the queues take them. A line's own fields win over the defaults."""
    lines = []
    for number, text in track(list(read_lines(file)), "Submitting", console=errors, transient=True):
        try:
            body = {name: value for name, value in defaults.items() if value is not None} | read_object(text)
            agent = body.pop("agent", None)
            if not isinstance(agent, str):
                raise BadInput('no agent: give one as "agent" in the line, or before --file')
            lines.append(Line(number, task_id=_submit(client, agent, body, priority)))
        except BadInput as error:
            lines.append(Line(number, error=str(error)))
    return lines


def _submit(client: Client, agent: str, body: dict[str, Any], priority: int) -> str:
    """Submit one task, when its queue has room for it."""
    told = False
    while True:
        try:
            return client.submit_task(agent, body, priority).id
        except QueueFull as full:
            if not told:
                limit = client.settings.queue_limit
                errors.print(f"The queue {agent!r} is full ({full.length:,} open, limit {limit:,}): waiting for room.")
            told = True
            time.sleep(LOOK_EVERY)


def results_of(client: Client, lines: Sequence[Line], timeout: float) -> Iterator[dict[str, Any]]:
    """One result for each line, in their order: the answer, or `error`. Waits for each up to `timeout` seconds."""
    for line in track(lines, "Answering", console=errors, transient=True):
        if line.task_id is None:
            yield {"line": line.number, "error": line.error}
            continue
        started = time.monotonic()
        try:
            with reaching(client.settings.redis):
                answer = client.result(line.task_id).get(timeout=timeout)
            yield {"line": line.number, **answer}
        except CeleryTimeoutError:
            waited = time.monotonic() - started
            yield {"line": line.number, "task_id": line.task_id, "error": f"no answer after {waited:.0f} s"}
        except MemshareError as error:
            yield {"line": line.number, "task_id": line.task_id, "error": str(error)}
