"""Access: tokens, made and revoked by who may do everything, and the last backup."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from memshare.client import last_backup as backups
from memshare.client.last_backup import LastBackup
from memshare.client.rest.calls.access import Access, NewTokenReply, RevokedReply, TokenReply
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
    """Let a token be worth nothing; raises `NotFound`, and `BadInput` where nobody could make or revoke the others."""
    caller.require_all()
    with backend.reaching():
        there = backend.tokens.all()
        left = [one for one in there if one.name != token_name]
        if left and len(left) < len(there) and lacks_admin(left) and not lacks_admin(there):
            raise BadInput(
                f"{token_name!r} is the last token with the right 'admin' for all pools: without it nobody could make "
                "or revoke the others by the page or REST. Make another one first: `memshare token create NAME --may "
                "admin --pools '*'`; or revoke the others first."
            )
        backend.tokens.revoke(token_name)
    audit(caller, "revoke a token", token=token_name)
    return RevokedReply(name=token_name, left=len(left))


@serves(Access.last_backup)
def last_backup(backend: Backend, caller: Caller) -> LastBackup | None:
    """When, by whom and where it was made; None without any."""
    caller.require_all()
    with backend.reaching():
        return backups.last_backup(backend.redis)
