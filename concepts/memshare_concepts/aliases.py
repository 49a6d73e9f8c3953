"""Concepts that were merged: one name stands for another. Every merge is recorded and can be undone."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pydantic import Field

from memshare_broker.wire.messages import Message
from memshare_concepts import names


class Merge(Message):
    """The record of a merge: memories that have the concept `of` count as having `into`."""

    of: str
    into: str
    at: datetime
    by: str
    """Who merged: a person's name, or `similarity`."""
    similarity: float | None = Field(default=None, ge=-1, le=1)


class Aliases:
    """The merges that are in force. `key` is what a graph is given to know which names are one concept."""

    def __init__(self, merges: Iterable[Merge] = ()) -> None:
        self._merges: dict[str, Merge] = {}
        for merge in merges:
            self.add(merge)

    def add(self, merge: Merge) -> None:
        """Put a merge in force. Raises ValueError where both are one concept already, or `of` is merged already."""
        of, into = names.key(merge.of), self.key(merge.into)
        if of == into:
            raise ValueError(f"{merge.of!r} and {merge.into!r} are one concept already: there is nothing to merge.")
        if of in self._merges:
            raise ValueError(f"{merge.of!r} is merged into {self._merges[of].into!r} already: split them first.")
        self._merges[of] = merge

    def undo(self, of: str) -> Merge:
        """Take a merge back and return it. Raises ValueError for a concept that was not merged."""
        if names.key(of) not in self._merges:
            raise ValueError(f"{of!r} was not merged into another concept: there is nothing to split.")
        return self._merges.pop(names.key(of))

    def is_merged(self, name: str) -> bool:
        """Whether a name was merged into another concept."""
        return names.key(name) in self._merges

    def merges(self) -> tuple[Merge, ...]:
        """The merges in force, in the order in which they were made."""
        return tuple(self._merges.values())

    def key(self, name: str) -> str:
        """The key of the concept that a name means, merges followed to the end."""
        found = names.key(name)
        while found in self._merges:
            found = names.key(self._merges[found].into)
        return found
