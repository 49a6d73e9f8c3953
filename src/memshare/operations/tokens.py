"""Tokens: who may ask at the doors, and what. Redis has their hashes, and never the tokens."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from typing import Annotated

import redis
from pydantic import Field, StringConstraints

from memshare.client.errors import NoToken
from memshare.operations.caller import RESERVED, Caller, Right
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import checked
from memshare_broker.wire.messages import Message, Name
from memshare_memory.recall.trust import GROUPS

TOKENS = "memshare:tokens"
"""Hash: name of a token → the `Token`."""
PREFIX = "msh"
_OF_NOBODY = f"{', '.join(sorted(RESERVED))} stand for submitters who are nobody, and who has the name reads theirs."

TokenName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,60}$")]


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
        """Let a token be worth nothing from now on; raises `BadInput` where there is none of that name."""
        if not self._client.hdel(TOKENS, name):
            known = ", ".join(token.name for token in self.all()) or "none"
            raise BadInput(f"No token is called {name!r}. There are: {known}.")

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
        """Whether there is one at all."""
        return bool(self._client.hlen(TOKENS))


def _is_reserved(name: str) -> bool:
    """Also where it differs in case alone."""
    return name.casefold() in RESERVED


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
