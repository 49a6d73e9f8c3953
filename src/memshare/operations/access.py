"""Access: tokens, made and revoked by who may do everything, and the last backup."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from memshare.client import last_backup as backups
from memshare.client.errors import NotFound
from memshare.client.last_backup import LastBackup
from memshare.client.rest.calls.access import Access, NewTokenReply, RevokedReply, TokenReply
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, Right, TokenName, audit
from memshare.operations.serving import serves
from memshare_broker.wire.messages import Message, Name

TokenPath = Annotated[str, Field(min_length=1, max_length=200)]


class TokenForm(Message):
    """A token to be made: its name is recorded as the submitter of what it brings in."""

    name: TokenName
    may: tuple[Right, ...] = Field(min_length=1)
    pools: tuple[Name, ...] | None = Field(default=None, min_length=1, description="null: all pools")
    group: Name | None = Field(
        default=None, description="its team: what its members say of each other's memories proves nobody"
    )


@serves(Access.list)
def tokens(backend: Backend, caller: Caller) -> list[TokenReply]:
    """Every token, by name."""
    caller.require_all()
    with backend.reaching():
        found = backend.tokens.all()
    return [TokenReply(**one.model_dump(exclude={"digest"})) for one in found]


@serves(Access.create)
def create(backend: Backend, caller: Caller, form: TokenForm) -> NewTokenReply:
    """Make a token; raises `BadInput` for a name that is taken or reserved."""
    caller.require_all()
    with backend.reaching():
        text = backend.tokens.create(form.name, form.may, form.pools, form.group)
    audit(caller, "create a token", token=form.name)
    return NewTokenReply(name=form.name, token=text)


@serves(Access.revoke)
def revoke(backend: Backend, caller: Caller, token_name: TokenPath) -> RevokedReply:
    """Let a token be worth nothing; raises `NotFound`."""
    caller.require_all()
    with backend.reaching():
        if token_name not in {one.name for one in backend.tokens.all()}:
            raise NotFound(f"No token is called {token_name!r}.")
        backend.tokens.revoke(token_name)
        left = len(backend.tokens.all())
    audit(caller, "revoke a token", token=token_name)
    return RevokedReply(name=token_name, left=left)


@serves(Access.last_backup)
def last_backup(backend: Backend, caller: Caller) -> LastBackup | None:
    """When, by whom and where it was made; None without any."""
    caller.require_all()
    with backend.reaching():
        return backups.last_backup(backend.redis)
