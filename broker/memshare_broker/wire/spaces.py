"""Spaces: the pools of an agent, in the order in which memories are promoted; the first may be each submitter's own.

A space of one's own is written `NAME/{submitter}`. No other pool has a slash in its name, and no submitter who may have
one, so nobody's name leads into another pool.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import NAME, InWords, Label, one_line

SUBMITTER = "{submitter}"
MOST_SPACES = 5
RESERVED = frozenset({"anonymous", "documents", "unknown"})
"""Submitters who are nobody: who gave no name, the documents that an agent reads, and who cannot be told any more."""
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,60}")
_SPACE = rf"{NAME}(/\{{submitter\}})?"
Space = Annotated[
    str, StringConstraints(pattern=f"^{_SPACE}$"), InWords(f"a name such as 'team', or 'mine/{SUBMITTER}'")
]
"""A pool as an agent's file names it: `team`, or `mine/{submitter}`."""


class Promotion(BaseModel):
    """When a memory is proposed for the next pool of an agent, and whether a person has to approve that.

    `helped` counts accepted answers to others than its author that followed it, `checked` those that programs graded,
    each to another prompt. With the approval "none" it is promoted as soon as it would be proposed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    helped: int = Field(default=3, ge=1)
    checked: int = Field(default=2, ge=1)
    approval: Literal["person", "none"] = "person"


class Spaces(Promotion):
    """The pools of an agent for a submitter, in their order."""

    pools: tuple[Label, ...] = Field(min_length=1, max_length=MOST_SPACES)

    def after(self, pool: str) -> str | None:
        """The pool that memories of this one are promoted to; None from the last."""
        return dict(pairwise(self.pools)).get(pool)


class AgentPools(BaseModel):
    """The pools of an agent: one, or several as `pools`, of which the first stands as `pool`, too."""

    pool: Space = Field(default="", description="where its memories live")
    pools: tuple[Space, ...] = Field(default=(), max_length=MOST_SPACES, description="new memories land in the first")
    promotion: Promotion = Promotion()

    @model_validator(mode="before")
    @classmethod
    def _pool_or_pools(cls, given: Any) -> Any:
        pool, named = given.get("pool"), given.get("pools")
        pools = [str(name) for name in named] if isinstance(named, list | tuple) else []
        if bool(pool) == bool(pools) and pool not in pools[:1]:
            raise ValueError("name its 'pool', or several as 'pools': one of the two")
        if wrong := [name for name in pools if not re.fullmatch(_SPACE, name)]:
            raise ValueError(f"pools: expected names such as 'team', or 'mine/{SUBMITTER}', not {wrong[0]!r}")
        if len({*pools}) < len(pools) or any(SUBMITTER in name for name in pools[1:]):
            raise ValueError(f"each of 'pools' stands there once, and one with {SUBMITTER} comes first")
        return {**given, "pool": pools[0]} if pools else given

    @property
    def shared(self) -> tuple[str, ...]:
        """The pools among these that are nobody's own."""
        return tuple(name for name in self.pools or (self.pool,) if SUBMITTER not in name)

    def has(self, pool: str) -> bool:
        """True if a pool is one of these, for whomever."""
        return any(fits(name, pool) for name in self.pools or (self.pool,))

    def spaces(self, submitter: str) -> Spaces:
        """These for a submitter; raises `BadInput` for one who cannot have a pool of their own."""
        spaces = self.pools or (self.pool,)
        is_own = SUBMITTER in spaces[0]
        if is_own and submitter.casefold() in RESERVED:
            raise BadInput(
                f"The agent keeps the memories of each submitter apart, and {submitter!r} is nobody: say who submits."
            )
        if is_own and not _OWNER.fullmatch(submitter):
            why = "expected up to 61 letters, digits and . _ @ + -, the first a letter or a digit"
            raise BadInput(one_line(f"The submitter {submitter!r} cannot have a pool of their own: {why}."))
        pools = tuple(name.replace(SUBMITTER, submitter) for name in spaces)
        return Spaces(pools=pools, **self.promotion.model_dump())


def owner_of(pool: str) -> str | None:
    """The submitter whose own a pool is; None for one that several share."""
    return pool.partition("/")[2] or None


def space_of(pool: str) -> str:
    """The space of a pool, as agents' files name it: one name for the own pools of all submitters."""
    name, slash, _ = pool.partition("/")
    return f"{name}/{SUBMITTER}" if slash else name


def fits(space: str, pool: str) -> bool:
    """True if a space is this pool, or is it for the pool's owner."""
    return pool == space.replace(SUBMITTER, owner_of(pool) or SUBMITTER)
