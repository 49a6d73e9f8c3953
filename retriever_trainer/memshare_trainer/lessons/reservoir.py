"""Which lessons and versions are kept, and which lessons are never trained on: the same at every trainer."""

from __future__ import annotations

import random

HELD_OUT_EVERY = 10
RECENT_VERSIONS, EVERY_VERSION, OLDEST_VERSION = 10, 25, 1_000


def is_held_out(number: int) -> bool:
    """One lesson in ten is never trained on."""
    return number % HELD_OUT_EVERY == 0


def slot_of(number: int, kept: int, seed: str) -> int | None:
    """The slot of a lesson, of `kept` for those that are learnt or a tenth of that for those that are held out.

    None where it is not kept: once all slots are full, as many of the early lessons as of the late ones stay
    (reservoir sampling, algorithm R; Vitter 1985).
    """
    held_out = is_held_out(number)
    before = number // HELD_OUT_EVERY - 1 if held_out else number - number // HELD_OUT_EVERY - 1
    slots = kept // HELD_OUT_EVERY if held_out else kept
    if before < slots:
        return before
    drawn = random.Random(f"{seed} {number}").randrange(before + 1)
    return drawn if drawn < slots else None


def outdated_by(version: int) -> list[int]:
    """What a new version makes too old to keep: the last ten stay, and of those before them every 25th."""
    thinned, oldest = version - RECENT_VERSIONS, version - OLDEST_VERSION
    return [old for old in (thinned if thinned % EVERY_VERSION else 0, oldest) if old > 0]
