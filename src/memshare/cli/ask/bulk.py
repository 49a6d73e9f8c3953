"""Many tasks from a file of JSON lines: submitted once, however often the command is run, and answered as it comes."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from memshare.client.client import Client
from memshare.files.json_lines import read_objects
from memshare.learn.resumable_run import Hints
from memshare_broker.errors import BadInput, MemshareError, QueueFull
from memshare_broker.wire.messages import derived_id

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

    found, faults = read_objects(file, "the line", made)
    return [TaskLine(number, *line) for number, line in found], faults


def submit_all(client: Client, lines: Sequence[TaskLine], priority: int) -> Iterator[TaskLine]:
    """Submit the tasks as fast as the queues take them; each is given when it is in its queue."""
    hints = Hints(client, {line.agent for line in lines})
    for line in lines:
        while not _submit(client, line, priority, hints):
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
            if not (room := _submit(client, line, priority, hints)):
                break
            waiting[line.task_id] = to_submit.popleft()
        begun = time.monotonic()
        for task_id in client.answered(list(waiting)):
            yield _result(client, waiting.pop(task_id))
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


def _submit(client: Client, line: TaskLine, priority: int, hints: Hints) -> bool:
    """Submit one task; False when its queue has no room."""
    try:
        client.submit_task(line.agent, line.body, priority, line.task_id)
    except QueueFull as full:
        hints.say(f"The queue {line.agent!r} is full ({full.length:,} open): waiting for room.")
        return False
    return True


def _result(client: Client, line: TaskLine) -> dict[str, Any]:
    try:
        return {"line": line.number, **client.result(line.task_id).get()}
    except MemshareError as error:
        return {"line": line.number, "task_id": line.task_id, "error": str(error)}
