"""Ids of memories as people type them: whole, or so much of the beginning that it means one alone."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from memshare.client.client import Client
from memshare_broker.errors import BadInput
from memshare_memory.curate.requests import TrashRequest
from memshare_memory.stores.store import Where

SHORTEST = 8  # digits of an id
_DIGITS = 32
_SHOWN = 5  # ids that begin with what was typed


def short_id(memory: UUID) -> str:
    """An id as tables show it; commands take it."""
    return str(memory)[:SHORTEST]


def find_memory(client: Client, typed: str) -> UUID:
    """The id of a memory of the pool; a whole one is not looked up. Raises `BadInput` for what means none, or many."""
    digits = _digits(typed)
    if len(digits) == _DIGITS:
        return UUID(digits)
    first = UUID(digits.ljust(_DIGITS, "0"))
    page = client.memories.page(Where(), limit=_SHOWN, after=first)
    found = [memory.id for memory in page.memories if memory.id.hex.startswith(digits)]
    return _only(typed, found, "No memory has", "`memshare memories list`")


def find_memories(client: Client, typed: Sequence[str] | None) -> tuple[UUID, ...]:
    """The ids of several memories of the pool."""
    return tuple(find_memory(client, one) for one in typed or ())


def find_in_trash(client: Client, typed: str) -> UUID:
    """The id of a memory in the trash, in the same way."""
    digits = _digits(typed)
    if len(digits) == _DIGITS:
        return UUID(digits)
    prefix = str(UUID(digits.ljust(_DIGITS, "0")))[: len(digits) + _hyphens(len(digits))]
    found = [one.memory.id for one in client.memories.trash(TrashRequest(prefix=prefix, limit=_SHOWN)).forgotten]
    return _only(typed, found, "No memory in the trash has", "`memshare memories trash`")


def _digits(typed: str) -> str:
    digits = typed.lower().strip("… ").replace("-", "")
    if not SHORTEST <= len(digits) <= _DIGITS or set(digits) - set("0123456789abcdef"):
        raise BadInput(
            f"{typed!r} is no id of a memory: expected one such as 1c6fa3b2-9d10-5e57-8f6e-0d2b7a9c4e11, or its first"
            f" {SHORTEST} digits or more."
        )
    return digits


def _hyphens(digits: int) -> int:
    """How many hyphens stand before the digit after so many."""
    return sum(digits > place for place in (8, 12, 16, 20))


def _only(typed: str, found: Sequence[UUID], nothing: str, listing: str) -> UUID:
    if not found:
        raise BadInput(f"{nothing} an id that begins with {typed!r}. {listing} shows them.")
    if len(found) > 1:
        raise BadInput(f"{typed!r} may mean several memories, give more of it: {', '.join(map(str, found))}.")
    return found[0]
