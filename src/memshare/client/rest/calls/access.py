"""Access: tokens, who has them and what they may do; and the last backup."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from memshare.client.last_backup import LastBackup
from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message


class TokenReply(Message):
    """A token, without its text, which nobody can read again."""

    name: str
    may: tuple[str, ...]
    pools: tuple[str, ...] | None = Field(description="null: all pools")
    created: float = Field(description="Unix time in seconds")
    group: str | None = Field(default=None, description="its team")


class NewTokenReply(Message):
    """A token that was made now. Its text is told this once."""

    name: str
    token: str


class RevokedReply(Message):
    """A token that is worth nothing any more; without any, `memshare serve` serves its user on this machine alone."""

    name: str
    left: int = Field(description="how many tokens there are still")


TokenReplies = list[TokenReply]


class Access(Calls[Asked]):
    """Tokens and backups. All of it takes the right `admin` and a token that sees all pools."""

    @call("get_tokens", "GET", "/v1/tokens")
    def list(self) -> TokenReplies:
        """The tokens by name; it takes the right `admin` for all pools."""

    @call("post_token", "POST", "/v1/tokens", status=201, repeatable=False)
    def create(
        self, name: str, may: Sequence[str], *, pools: Sequence[str] | None = None, group: str | None = None
    ) -> NewTokenReply:
        """Make a token and tell its text, once. From the first one on every request needs one.

        `may` are rights (recall, watch, offer, submit, curate, admin); without `pools` it sees all of them.
        What those of a `group` (a team) say of each other's memories proves nobody.
        """

    @call("delete_token", "DELETE", "/v1/tokens/{token_name}", repeatable=False)
    def revoke(self, token_name: str) -> RevokedReply:
        """Revoke a token, at once. What it brought in stays."""

    @call("get_last_backup", "GET", "/v1/backups/last")
    def last_backup(self) -> LastBackup | None:
        """The last backup that was made, null without any; it takes the right `admin` for all pools."""
