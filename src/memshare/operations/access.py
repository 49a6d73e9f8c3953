"""Access: tokens, made and revoked by who may do everything, and the last backup."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import redis
from pydantic import Field

from memshare.client.rest.calls.operating import Access, LastBackup, NewTokenReply, RevokedReply, TokenReply
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, Right, Token, TokenName, audit
from memshare.operations.serving import serves
from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import Name

TokenPath = Annotated[str, Field(min_length=1, max_length=200)]


@serves(Access.list)
def tokens(backend: Backend, caller: Caller) -> list[TokenReply]:
    """Every token, by name."""
    caller.require_all()
    with backend.reaching():
        found = backend.tokens.all()
    return [TokenReply(**one.model_dump(exclude={"digest"})) for one in found]


@serves(Access.create, "TokenForm")
def create(
    backend: Backend,
    caller: Caller,
    name: TokenName,
    may: Annotated[tuple[Right, ...], Field(min_length=1)],
    pools: Annotated[tuple[Name, ...] | None, Field(min_length=1, description="null: all pools")] = None,
    group: Annotated[
        Name | None, Field(description="its team: what its members say of each other's memories proves nobody")
    ] = None,
) -> NewTokenReply:
    """Make a token; raises `BadInput` for a name that is taken or reserved, and where nobody could make the next."""
    caller.require_all()
    with backend.reaching():
        if not ("admin" in may and pools is None) and lacks_admin(backend.tokens.all()):
            raise BadInput(
                "No token has the right 'admin' for all pools yet, and once there is any, only such a token opens "
                "Access and makes others by the page and REST. Make it first: `memshare token create NAME --may admin "
                "--pools '*'`."
            )
        text = backend.tokens.create(name, may, pools, group)
    audit(caller, "create a token", token=name)
    return NewTokenReply(name=name, token=text)


def lacks_admin(there: Iterable[Token | TokenReply]) -> bool:
    """True if none of these tokens may do everything in all pools."""
    return not any("admin" in one.may and one.pools is None for one in there)


@serves(Access.revoke)
def revoke(backend: Backend, caller: Caller, token_name: TokenPath) -> RevokedReply:
    """Let a token be worth nothing; raises `NotFound`."""
    caller.require_all()
    with backend.reaching():
        backend.tokens.revoke(token_name)
        left = len(backend.tokens.all())
    audit(caller, "revoke a token", token=token_name)
    return RevokedReply(name=token_name, left=left)


@serves(Access.last_backup)
def last_backup(backend: Backend, caller: Caller) -> LastBackup | None:
    """When, by whom and where it was made; None without any."""
    caller.require_all()
    with backend.reaching():
        return read_last_backup(backend.redis)


LAST_BACKUP = "memshare:backup"


def note_backup(client: redis.Redis, made: LastBackup) -> None:
    """Note that a backup was made, in place of the one before."""
    client.set(LAST_BACKUP, made.model_dump_json())


def read_last_backup(client: redis.Redis) -> LastBackup | None:
    """The last one; None where none was made."""
    text = client.get(LAST_BACKUP)
    return LastBackup.model_validate_json(text) if text else None
