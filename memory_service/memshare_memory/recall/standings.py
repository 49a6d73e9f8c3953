"""What is known of the submitters of a pool, as its trainer writes it and recall reads it."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from memshare_broker.wire.messages import Message


class Standing(Message):
    """What the words about a submitter's memories come to in a pool.

    `worth` is in the unit of a cosine, where 0 is the pool's mean, and `error` its standard error. `words` counts what
    people said, each once for a memory, and nobody of their own where others speak, too. Who is `proven` is so
    for what is `near` one of these memories, or for all where none are named.
    """

    worth: float
    error: float
    words: int
    proven: bool = False
    near: tuple[UUID, ...] = ()


class Standings(Message):
    """All submitters of whom something was said in a pool, by name."""

    submitters: dict[str, Standing] = Field(default={})

    @property
    def proven(self) -> dict[str, tuple[UUID, ...]]:
        """Who is, and near what."""
        return {name: one.near for name, one in self.submitters.items() if one.proven}

    @property
    def worth(self) -> dict[str, float]:
        return {name: one.worth for name, one in self.submitters.items()}


def retriever_key(pool: str, encoder: str, what: str) -> str:
    """Where something of a pool's retriever lies; another encoder's vectors need an adapter of their own."""
    return f"memshare:retriever:{pool}:{encoder}:{what}"


def standings_key(pool: str, encoder: str) -> str:
    """Holds the pool's `Standings` as JSON, which come with every update, published or not."""
    return retriever_key(pool, encoder, "standings")


def standings_number_key(pool: str, encoder: str) -> str:
    """Holds a number that grows whenever the pool's `Standings` are written."""
    return retriever_key(pool, encoder, "standings number")
