"""The process that runs checks: functions of Python modules, and commands."""

from __future__ import annotations

import inspect
import json
import math
import os
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from memshare_broker.child_processes import LONGEST, Request, function_of, limit_time, serve
from memshare_broker.errors import GiveUp

ORPHAN = 5.0  # seconds more than whoever waits for it allows, after which a check ends that nobody waits for


def run(asked: Request, data: bytes) -> dict[str, object]:
    """The share of the points that a pair earns, 0 to 1, or None where nobody knows.

    Without a pair only look whether the check is there.
    """
    folder, check = str(asked["folder"]), asked["check"]
    options: dict[str, Any] = dict(asked["options"])  # type: ignore[call-overload]
    seconds = float(str(asked["seconds"])) + ORPHAN
    os.chdir(folder)
    if isinstance(check, list):
        return {"share": _share(_of_command(check, json.loads(data) | {"options": options}, seconds))}
    function = function_of(str(check), folder)
    _require_fit(function, options)
    if not data:
        return {}
    limit_time(seconds)
    try:
        value = function(**json.loads(data), **options)
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        raise GiveUp(f"it raised {type(error).__name__}: {str(error)[:LONGEST]}") from error
    return {"share": _share(value)}


def _require_fit(function: Callable[..., object], options: dict[str, Any]) -> None:
    try:
        inspect.signature(function).bind(prompt="", answer="", **options)
    except TypeError as error:
        raise GiveUp(f"it cannot be called with prompt, answer and its options: {error}") from error


def _of_command(command: Sequence[str], pair: dict[str, Any], seconds: float) -> object:
    try:
        done = subprocess.run(
            command, input=json.dumps(pair), capture_output=True, text=True, timeout=seconds, check=False
        )
    except OSError as error:
        raise GiveUp(f"it cannot be run: {error.strerror}") from error
    if done.returncode:
        raise GiveUp(f"it ended with exit code {done.returncode}: {_last_line(done.stderr)}")
    try:
        return json.loads(_last_line(done.stdout))
    except ValueError:
        return _last_line(done.stdout)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no output"])[-1][:LONGEST]


def _share(value: object) -> float | None:
    if value is None:
        return None
    if not isinstance(value, bool | int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        raise GiveUp(f"it gave {repr(value)[:LONGEST]}, and not a share of the points: 0 to 1, true or false, or none")
    return float(value)


if __name__ == "__main__":
    serve(run)
