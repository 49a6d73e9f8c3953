"""Who asks at a door: a name that was proven, what it may do, and the pools that it sees."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Literal, get_args

from memshare.client.errors import Forbidden, NotFound
from memshare_broker.observe.logs import ids

Right = Literal["recall", "watch", "offer", "submit", "curate", "admin"]
"""recall: read pools; watch: see what becomes of others' tasks; offer: bring in answers and outcomes; submit: give
tasks to agents; curate: change memories, and watch; admin: all of it."""

RIGHTS: tuple[Right, ...] = get_args(Right)
LOCAL_NAME = "anonymous"
RESERVED = frozenset({LOCAL_NAME, "documents", "unknown"})
"""Submitters who are nobody: who gave no name, the documents that an agent reads, and who cannot be told any more."""


@dataclass(frozen=True)
class Caller:
    """Whoever asks, at any door: its name stands as the submitter of all that it brings in."""

    name: str
    rights: frozenset[Right]
    pools: frozenset[str] | None = None
    """None: all pools."""

    def may(self, right: Right) -> bool:
        return right in self.rights or "admin" in self.rights

    def require(self, right: Right) -> None:
        """Raise `Forbidden` without a right."""
        if not self.may(right):
            raise Forbidden(f"The token {self.name!r} may not do this: it takes the right {right!r}.")

    @property
    def may_all(self) -> bool:
        """Whether it may do everything in all pools."""
        return self.may("admin") and self.pools is None

    def require_all(self) -> None:
        """Raise `Forbidden` for who may not do everything in all pools."""
        self.require("admin")
        if self.pools is not None:
            raise Forbidden(f"The token {self.name!r} may not do this: it takes one that sees all pools.")

    def sees(self, pool: str | None) -> bool:
        """Whether a pool is one of the caller's; None, a pool that is not known, is seen by who sees all."""
        return self.pools is None or pool in self.pools

    def require_pool(self, pool: str) -> None:
        """Raise `NotFound` for a pool that is not the caller's: it is told nothing of it, not even that it exists."""
        if not self.sees(pool):
            raise NotFound(f"No pool is called {pool!r}.")


def local_caller() -> Caller:
    """Whoever asks from this machine while there is no token: they may do everything."""
    return Caller(LOCAL_NAME, frozenset({"admin"}))


log = logging.getLogger("memshare.audit")


def audit(caller: Caller, action: str, **about: object) -> None:
    """Note that a caller did something, and what it was about."""
    log.info("Done by %s: %s.", caller.name, action, extra=ids(caller=caller.name, action=action, **about))
