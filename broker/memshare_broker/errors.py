"""Errors, sorted by what to do about each."""

from __future__ import annotations

import math
from typing import Any, Literal

Reason = Literal[
    "rate limit",
    "server error",
    "time-out",
    "connection",
    "model away",
    "cut off",
    "invalid reply",
    "busy",
    "store",
    "credentials",
    "quota",
    "unknown model",
    "no model",
    "refused",
    "content filter",
    "too long",
    "malformed",
    "signature",
    "rubric",
    "check",
    "crash",
    "bug",
]
"""Why something failed, in the words that dead letters, `memshare dead list` and the metrics use."""

OUTAGES = frozenset({"store", "model away", "rate limit"})
"""Reasons that concern every task alike, and cost nothing to try again: bounded by age alone, and no try is counted."""
REFUSALS = frozenset({"refused", "content filter"})
"""Reasons that may be of one prompt alone."""
PAID = frozenset({"cut off", "invalid reply"})
"""Reasons for which a model was paid: tried again fewer times than others."""

COME_BACK = (5.0, 600.0)  # seconds; the least and the most that a full queue asks to wait


class MemshareError(Exception):
    """Something a person can mend: the message says what was wrong, what was expected, what to do next."""

    def __reduce__(self) -> tuple[Any, ...]:
        """It comes out of another process as it was, whatever its class is made with."""
        return _as_it_was, (type(self), self.args, vars(self))


def _as_it_was(kind: type[MemshareError], args: tuple[Any, ...], fields: dict[str, Any]) -> MemshareError:
    error = kind.__new__(kind, *args)
    vars(error).update(fields)
    return error


class BadInput(MemshareError):
    """A value that a caller gave cannot be used."""


class WrongAgain(BadInput):
    """An answer that a person called wrong was to be brought in again."""


class Unreachable(MemshareError):
    """A service that is needed does not answer: Redis, Qdrant or a worker."""


class TryAgain(MemshareError):
    """It may work later; `wait` is the number of seconds the other side asked for, if it did and it is one.

    Where nobody was `asked`, as another one was refused a moment ago, no try has failed.
    """

    def __init__(self, message: str, wait: float | None = None, reason: Reason = "busy", *, asked: bool = True) -> None:
        super().__init__(message)
        self.wait = max(wait, 0.0) if wait is not None and math.isfinite(wait) else None
        self.reason: Reason = reason
        self.asked = asked


class QueueFull(TryAgain):
    """A queue takes no more for now; `length` is how many messages of it are open, `wait` when to come back.

    `pace` is how many of its messages ended in a minute: what frees a tenth of it is worth waiting for.
    """

    def __init__(self, queue: str, limit: int, length: int, pace: int) -> None:
        shortest, longest = COME_BACK
        wait = min(max(60 * limit / 10 / pace, shortest), longest) if pace else 60.0
        super().__init__(
            f"The queue {queue!r} is full: {'1 message is' if length == 1 else f'{length:,} messages are'} open, and "
            f"{limit:,} is the limit "
            f"(MEMSHARE_QUEUE_LIMIT). Come back in {wait:.0f} s, or start more workers for it.",
            wait,
        )
        self.length = length


class NotYet(MemshareError):
    """It may not run now, through no fault of its own: it waits beside its queue, and no try is counted.

    `wait` is for how many seconds; `hold` names what holds it back, such as `agent poem` for the cap of an agent,
    so that it can go on at once when that is lifted.
    """

    def __init__(self, message: str, wait: float, hold: str) -> None:
        super().__init__(message)
        self.wait = wait
        self.hold = hold


def is_waiting(error: Exception) -> bool:
    """True if what failed waits until a cap, a rate limit or an outage is over: no try is counted."""
    return isinstance(error, NotYet) or (isinstance(error, TryAgain) and error.reason in OUTAGES)


class GiveUp(MemshareError):
    """It will never work as it stands: the message becomes a dead letter."""

    def __init__(self, message: str, reason: Reason = "refused") -> None:
        super().__init__(message)
        self.reason: Reason = reason


class IdTaken(GiveUp):
    """A task came under the id of another one that said something else."""

    def __init__(self, message_id: str) -> None:
        super().__init__(
            f"The id {message_id!r} is that of another task, so this one was not run. Submit it under an id of its own."
        )


def stops_of(error: BaseException) -> list[KeyboardInterrupt]:
    """Each Ctrl-C behind an error, the first one last: what it breaks off may fail in its turn."""
    before = stops_of(error.__context__) if error.__context__ else []
    return [error, *before] if isinstance(error, KeyboardInterrupt) else before
