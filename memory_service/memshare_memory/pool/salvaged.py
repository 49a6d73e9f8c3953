"""What a look at a pool that nobody has open found; light to import, for who has it looked at."""

from __future__ import annotations

from memshare_broker.wire.messages import Message


class Salvaged(Message):
    """Why the pool does not open, if it does not, and how many memories it has or were saved of it.

    `left_out` could not be read, and `kept` is the folder of the damaged files, once a new pool is in their place.
    """

    memories: int
    damage: str | None = None
    left_out: int = 0
    kept: str | None = None
