"""What the process that fills a store is told, and what it answers; light to import, for who starts it."""

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
