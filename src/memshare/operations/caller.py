"""Who asks: a name that was proven by a token, what it may do, and the pools that it sees."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import time
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import redis
from pydantic import Field, StringConstraints

from memshare.client.errors import Forbidden, NotFound, NoToken
from memshare_broker.errors import BadInput
from memshare_broker.observe.logs import ids
from memshare_broker.presence import AgentCard
from memshare_broker.wire.forms import InWords, checked
from memshare_broker.wire.messages import Message, Name
from memshare_broker.wire.spaces import RESERVED, SUBMITTER, owner_of
from memshare_memory.belief.trust import GROUPS

Right = Literal["recall", "watch", "offer", "submit", "curate", "admin"]
"""recall: read pools; watch: see what becomes of others' tasks; offer: bring in answers and outcomes; submit: give
tasks to agents; curate: change memories, watch, and say that answers are right or wrong; admin: all of it."""

RIGHTS: tuple[Right, ...] = get_args(Right)
LOCAL_NAME = "anonymous"


@dataclass(frozen=True)
class Caller:
    """Whoever asks, at any door: its name stands as the submitter of all that it brings in."""

    name: str
    rights: frozenset[Right]
    pools: frozenset[str] | None = None
    """None: all pools."""

    def may(self, *rights: Right) -> bool:
        """True with one of these rights."""
        return not self.rights.isdisjoint((*rights, "admin"))

    def require(self, *rights: Right) -> None:
        """Raise `Forbidden` without one of these rights."""
        if not self.may(*rights):
            wanted = " or ".join(map(repr, rights))
            raise Forbidden(f"The token {self.name!r} may not do this: it takes the right {wanted}.")

    @property
    def may_all(self) -> bool:
        """True if the caller may do everything in all pools."""
        return self.may("admin") and self.pools is None

    def require_all(self) -> None:
        """Raise `Forbidden` for who may not do everything in all pools."""
        self.require("admin")
        if self.pools is not None:
            raise Forbidden(f"The token {self.name!r} may not do this: it takes one that sees all pools.")

    def sees(self, pool: str | None) -> bool:
        """True if a pool is one of the caller's. None is an unknown pool: only callers who see all pools see it.

        A space of their own is theirs, whatever pools their token names.
        """
        return self.pools is None or pool in self.pools or (pool is not None and owner_of(pool) == self.name)

    def uses(self, card: AgentCard) -> bool:
        """True if an agent's pool is the caller's; where that is a space of theirs, also one of the shared ones."""
        if SUBMITTER in card.pool and card.shared:
            return any(map(self.sees, card.shared))
        return SUBMITTER in card.pool or self.sees(card.pool)

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


TOKENS = "memshare:tokens"
"""Hash: name of a token → the `Token`."""
PREFIX = "msh"
_OF_NOBODY = f"{', '.join(sorted(RESERVED))} stand for submitters who are nobody, and who has the name reads theirs."

TokenName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,60}$"),
    InWords("up to 61 letters (A-Z, a-z), digits and -, the first a letter or a digit"),
]


class Token(Message):
    """A token as it is kept. `digest` is the SHA-256 of its text, which is as random as the hash itself."""

    name: TokenName
    may: tuple[Right, ...] = Field(min_length=1)
    pools: tuple[Name, ...] | None = Field(min_length=1, description="None: all pools")
    digest: str
    created: float = Field(description="Unix time in seconds")
    group: Name | None = None

    @property
    def caller(self) -> Caller:
        return Caller(self.name, frozenset(self.may), None if self.pools is None else frozenset(self.pools))


class Tokens:
    """The tokens of one Redis."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def create(self, name: str, may: tuple[str, ...], pools: tuple[str, ...] | None, group: str | None = None) -> str:
        """Make a token and return its text, which nobody can read again.

        What those of a `group` say of each other's memories proves nobody.

        Raises `BadInput` for a name that is taken or reserved.
        """
        if _is_reserved(name):
            raise BadInput(f"The name {name!r} is reserved: {_OF_NOBODY} Give the token another name.")
        text = f"{PREFIX}_{name}_{secrets.token_hex(32)}"
        token = checked(
            Token, "The token", name=name, may=may, pools=pools, digest=_digest(text), created=time.time(), group=group
        )
        if not self._client.hsetnx(TOKENS, name, token.model_dump_json()):
            raise BadInput(f"There is a token {name!r} already. Revoke it first, or give this one another name.")
        if group is not None:
            self._client.hset(GROUPS, name, group)
        else:
            self._client.hdel(GROUPS, name)
        return text

    def all(self) -> list[Token]:
        """Every token, by name."""
        texts = self._client.hgetall(TOKENS)
        return [Token.model_validate_json(texts[name]) for name in sorted(texts)]

    def revoke(self, name: str) -> None:
        """Let a token be worth nothing from now on; raises `NotFound`."""
        if not self._client.hdel(TOKENS, name):
            known = ", ".join(token.name for token in self.all()) or "none"
            raise NotFound(f"No token is called {name!r}. There are: {known}.")

    def find(self, text: str) -> Token | None:
        """The token with this text. Compared are hashes, in constant time, whether the name is known or not.

        Raises `NoToken` for one with a reserved name.
        """
        _, _, name = text.rpartition("_")[0].partition("_")
        kept = self._client.hget(TOKENS, name)
        token = Token.model_validate_json(kept) if kept else None
        same = hmac.compare_digest(token.digest if token else _digest(""), _digest(text))
        if token and same and _is_reserved(name):
            raise NoToken(
                f"The token {name!r} is not taken, as its name is reserved: {_OF_NOBODY} Run `memshare token revoke "
                f"{name}`, and create one with another name."
            )
        return token if token and same else None

    def any(self) -> bool:
        """True if there is any token."""
        return bool(self._client.hlen(TOKENS))


def _is_reserved(name: str) -> bool:
    """Also where it differs in case alone."""
    return name.casefold() in RESERVED


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
