"""Programs that say how many of a criterion's points a pair earns, each in a process of its own and within limits."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from memshare_broker.child_processes import ask_child
from memshare_broker.errors import BadInput, GiveUp
from memshare_scorer.rubric import Criterion, Rubric

COMMAND = ("-m", "memshare_scorer.check_process")
LOOK_WITHIN = 60.0  # seconds for a module to be imported
MEGABYTE = 2**20
SCRIPTS = frozenset({".js", ".pl", ".py", ".rb", ".sh"})


def share(rubric: Rubric, criterion: Criterion, prompt: str, answer: str, *, again: bool = False) -> float | None:
    """The share of its points, 0 to 1, that the criterion's check gives; None where it knows no right answer.

    With `again` by processes that do nothing else, as others may have imported an older version of it. Raises `GiveUp`
    where it fails, takes too long or too much memory, or gives anything else.
    """
    pair = json.dumps({"prompt": prompt, "answer": answer}).encode()
    try:
        found = _ask(rubric, criterion, pair, criterion.limits.seconds, int(again))
    except GiveUp as error:
        raise GiveUp(
            f"Not graded: the check {criterion.check!r} of {criterion.name!r} in rubric {rubric.name!r} is of no use "
            f"here: {str(error).rstrip('.')}. Mend it, and retry the dead letter.",
            "check",
        ) from error
    return found["share"]


def require_checks(rubrics: Iterable[Rubric]) -> None:
    """Raise `BadInput` for a check whose command, module or function there is not, or that its options do not fit."""
    for rubric in rubrics:
        for criterion in rubric.criteria:
            if criterion.check is None:
                continue
            try:
                if isinstance(criterion.check, str):
                    _ask(rubric, criterion, b"", LOOK_WITHIN)
                else:
                    _require_command(rubric.folder, *criterion.check)
            except GiveUp as error:
                raise BadInput(
                    f"Rubric {rubric.name!r} in {rubric.folder}: the check {criterion.check!r} of {criterion.name!r} "
                    f"cannot be used: {str(error).rstrip('.')}. Write MODULE:FUNCTION, with the module beside the "
                    'rubric or installed, or a command as ["PROGRAM", "ARGUMENT"].'
                ) from error


def _require_command(folder: Path, program: str, *arguments: str) -> None:
    """Raise `GiveUp` where the program is not there, or a script among its arguments does not lie beside the rubric.

    A program with a slash in its name lies there, too.
    """
    if shutil.which(str(folder / program) if "/" in program else program) is None:
        raise GiveUp(f"there is no program {program!r}")
    for one in arguments:
        if Path(one).suffix in SCRIPTS and not (folder / one).exists():
            raise GiveUp(f"there is no file {one!r} in {folder}")


def _ask(rubric: Rubric, criterion: Criterion, pair: bytes, seconds: float, more: int = 0) -> dict[str, float | None]:
    request = {
        "source": criterion.name,
        "check": criterion.check,
        "folder": str(rubric.folder),
        "options": criterion.options or {},
        "seconds": seconds,
        "memory": criterion.limits.megabytes * MEGABYTE,
    }
    return ask_child(COMMAND, (os.cpu_count() or 1) + more, request, pair, seconds, "check")
