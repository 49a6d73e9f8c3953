"""How often a model was unsure when it graded by a rubric: where that is often, it cannot grade by it."""

from __future__ import annotations

from typing import NamedTuple

import redis

GRADES = "memshare:unsure_grades"  # hash: by model and rubric how many grades there were, and how many it was unsure of
MANY = 1 / 3  # share of unsure grades
FEWEST = 9  # grades, before which nothing is said
REMEMBERED = 100  # grades; beyond them both numbers are halved
_SEPARATOR = "\x1f"


class Doubt(NamedTuple):
    """A model that was unsure of many of its grades by a rubric."""

    model: str
    rubric: str
    grades: int
    unsure: int

    def __str__(self) -> str:
        return (
            f"{self.model} was unsure of {self.unsure} of its last {self.grades} grades by the rubric {self.rubric!r}: "
            "it cannot grade by it. Let programs check what they can (docs/agents.md, 'A program that grades'), or "
            "give the scorer another model with MEMSHARE_MODEL_SCORER."
        )


class UnsureGrades:
    """The counts of one Redis."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def note(self, model: str, rubric: str, *, unsure: bool) -> None:
        """Count a grade."""
        field = _SEPARATOR.join((model, rubric))
        grades, doubted = _read(self._client.hget(GRADES, field))
        halved = 2 if grades >= REMEMBERED else 1
        self._client.hset(GRADES, field, f"{grades // halved + 1} {doubted // halved + unsure}")

    def doubts(self, rubric: str | None = None) -> list[Doubt]:
        """The models that were unsure of a third of their grades, by a rubric or by any."""
        found = []
        for field, text in sorted(self._client.hgetall(GRADES).items()):
            model, name = str(field).split(_SEPARATOR)
            grades, unsure = _read(text)
            if rubric in (None, name) and grades >= FEWEST and unsure >= MANY * grades:
                found.append(Doubt(model, name, grades, unsure))
        return found


def _read(text: bytes | str | None) -> tuple[int, int]:
    grades, unsure = str(text or "0 0").split()
    return int(grades), int(unsure)
