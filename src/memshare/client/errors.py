"""Errors of the doors, beside those of the whole project (`memshare_broker.errors`)."""

from __future__ import annotations

from memshare_broker.errors import BadInput, MemshareError, NotYet, QueueFull, TryAgain, Unreachable, WrongAgain


class NoToken(MemshareError):
    """There is no token in the request, or none that is known."""


class Forbidden(MemshareError):
    """The token is known and lacks a right."""


class NotFound(BadInput):
    """There is no such thing, or it is not the caller's: both look the same."""


class Conflict(BadInput):
    """Something else has that name or key already."""


class Stale(BadInput):
    """The thing to be changed has changed since it was read."""


class NoMatch(BadInput):
    """A change came without the version that it is for."""


class TooLarge(BadInput):
    """A request is larger than is taken."""


class TooManyRequests(TryAgain):
    """A caller has asked as often as it may for now."""


STATUSES: tuple[tuple[type[MemshareError], int], ...] = (
    (NoToken, 401),
    (Forbidden, 403),
    (NotFound, 404),
    (WrongAgain, 409),
    (Conflict, 409),
    (Stale, 412),
    (TooLarge, 413),
    (NoMatch, 428),
    (BadInput, 422),
    (QueueFull, 429),
    (TooManyRequests, 429),
    (NotYet, 429),
    (TryAgain, 503),
    (Unreachable, 503),
)
"""The HTTP status of each error; the first that fits counts, and of one status the last error."""
