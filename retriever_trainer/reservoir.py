"""Which lessons are kept, and which of them are never trained on: the same at every trainer."""

from __future__ import annotations

import random

HELD_OUT_EVERY = 10


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
