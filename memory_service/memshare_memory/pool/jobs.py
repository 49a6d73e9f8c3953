"""Jobs and replies of processes that fill a store, or look at one; light to import, for code that starts them."""

from __future__ import annotations

from memshare_broker.wire.messages import Message


class RefillJob(Message):
    """Fill the store of a folder, which is made for it, or without one the store on the Qdrant server of the settings.

    That one must be empty, unless what it has may be replaced.
    """

    encoder: str
    folder: str | None
    replace: bool


class Refilled(Message):
    """How many memories were written, and how many could not be read and were left out; or why nothing was done."""

    written: int = 0
    left_out: int = 0
    error: str | None = None


class Salvaged(Message):
    """Why the pool does not open, if it does not, and how many memories it has or were saved of it.

    `left_out` could not be read, and `kept` is the folder of the damaged files, once a new pool is in their place.
    """

    memories: int
    damage: str | None = None
    left_out: int = 0
    kept: str | None = None
