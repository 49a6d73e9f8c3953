"""Withholding: in a small share of the tasks one of the recalled memories, drawn at random, is not shown."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from memshare_memory.door.messages import Found

_HALF = 8  # bytes of the drawn number: one half decides whether, the other which


class Withholding(NamedTuple):
    """The memories that are shown, and the one that is withheld, if there is one.

    `randomized` says whether one might have been: such tasks alone are compared.
    """

    shown: tuple[Found, ...]
    withheld: Found | None = None
    randomized: bool = False


def withhold_one(task_id: str, found: Sequence[Found], share: float) -> Withholding:
    """Withhold one of the memories in this share of the tasks, 0 to 1.

    The draw depends on the task's id alone, so a message that is delivered again gets the same.
    """
    if not found or not share:
        return Withholding(tuple(found))
    drawn = blake2b(f"withhold {task_id}".encode(), digest_size=2 * _HALF).digest()
    if int.from_bytes(drawn[:_HALF], "big") >= share * 2 ** (8 * _HALF):
        return Withholding(tuple(found), randomized=True)
    place = int.from_bytes(drawn[_HALF:], "big") % len(found)
    return Withholding((*found[:place], *found[place + 1 :]), found[place], randomized=True)
