"""Calls of those who run a deployment: tokens, the last backup, spend caps, dead letters and jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

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


class LastBackup(Message):
    """A backup that was written whole."""

    at: float = Field(description="Unix time in seconds")
    by: str = Field(description="login name of who made it")
    file: str = Field(description="on the machine where it was made")
    size: int = Field(description="in bytes")
    memories: int


TokenReplies = list[TokenReply]


class Access(Calls[Asked]):
    """Tokens and backups. All of it takes the right `admin` and a token that sees all pools."""

    @call("get_tokens", "GET", "/v1/tokens", tag="access")
    def list(self) -> TokenReplies:
        """The tokens by name; it takes the right `admin` for all pools."""

    @call("post_token", "POST", "/v1/tokens", tag="access", status=201, repeatable=False)
    def create(
        self, name: str, may: Sequence[str], *, pools: Sequence[str] | None = None, group: str | None = None
    ) -> NewTokenReply:
        """Make a token and tell its text, once. From the first one on every request needs one.

        `may` are rights (recall, watch, offer, submit, curate, admin); without `pools` it sees all of them.
        What those of a `group` (a team) say of each other's memories proves nobody.
        """

    @call("delete_token", "DELETE", "/v1/tokens/{token_name}", tag="access", repeatable=False)
    def revoke(self, token_name: str) -> RevokedReply:
        """Revoke a token, at once. What it brought in stays."""

    @call("get_last_backup", "GET", "/v1/backups/last", tag="access")
    def last_backup(self) -> LastBackup | None:
        """The last backup that was made, null without any; it takes the right `admin` for all pools."""


class Spent(BaseModel):
    """Usage of an agent, submitter or model; for a model also whether it has a price."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: float = 0.0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    priced: bool | None = None


class Capped(BaseModel):
    """A cap, what is used and left of it, and how many tasks wait for it; None where there is no limit."""

    kind: Literal["agent", "submitter"]
    name: str
    tokens: int | None
    money: float | None
    tokens_used: int
    money_used: float
    tokens_left: int | None
    money_left: float | None
    waiting: int


class Spending(BaseModel):
    """A UTC day's spending."""

    day: str
    currency: str | None
    caps: list[Capped]
    agents: dict[str, Spent]
    submitters: dict[str, Spent]
    models: dict[str, Spent]


class CapReply(Message):
    """A cap as it is now; null is no limit."""

    kind: Literal["agent", "submitter"]
    name: str
    tokens: int | None
    money: float | None
    go_on: int = Field(description="how many tasks that waited for it go on now")
    unpriced: tuple[str, ...] = Field(description="models that a cap in money does not hold, as they have no price")


class Budgets(Calls[Asked]):
    """Daily limits, and the usage so far."""

    @call("get_budgets", "GET", "/v1/budgets", tag="budgets")
    def get(self) -> Spending:
        """Caps, what is left of them, which tasks wait, and what was used today: by you, and by agents of your pools.

        Whoever sees all pools with the right `admin` is told of every submitter and model.
        """

    @call("post_cap", "POST", "/v1/budgets", tag="budgets", repeatable=False)
    def set(
        self,
        kind: Literal["agent", "submitter"],
        name: str,
        *,
        tokens: int | None = None,
        money: float | None = None,
        none: bool = False,
    ) -> CapReply:
        """Set, raise or, with `none`, take away what an agent or a submitter may use in a UTC day.

        It takes the right `admin` for all pools. What is not named is unchanged. Tasks that wait for it go on at once.
        """


class DeadLetterReply(Message):
    """A message that was given up."""

    id: str
    journey: str
    task: str
    pool: str | None
    reason: str
    prompt: str | None = Field(default=None, description="of the task, or of the memory that it is about")
    answer: str | None = Field(default=None, description="beside it, where there was one")
    error: str
    tries: int
    died: float
    retriable: bool = Field(description="false for one that could not be read, or proved nothing")


class Retried(Message):
    """A message that is back in its queue; `retried` is false where somebody else was first."""

    id: str
    retried: bool


class Dropped(Message):
    """A message that is forgotten; its journey keeps the reason."""

    id: str


Letters = list[DeadLetterReply]


class DeadLetterCalls(Calls[Asked]):
    """Messages that were given up: list them, put them back into their queues, or drop them."""

    @call("get_dead_letters", "GET", "/v1/dead-letters", tag="dead letters")
    def list(self) -> Letters:
        """The messages that were given up in your pools, oldest first; it takes the right `admin`."""

    @call("retry_dead_letter", "POST", "/v1/dead-letters/{letter_id}/retry", tag="dead letters", repeatable=False)
    def retry(self, letter_id: str) -> Retried:
        """Put a message back into its queue, under its old id; it takes the right `admin`."""

    @call("delete_dead_letter", "DELETE", "/v1/dead-letters/{letter_id}", tag="dead letters", repeatable=False)
    def drop(self, letter_id: str) -> Dropped:
        """Drop a message for good; it takes the right `admin`.

        Its journey keeps the reason.
        """


JobKind = Literal[
    "backup", "concepts", "consolidation", "import", "purge", "recheck", "trial", "rubric", "questions", "summary"
]


class JobReply(Message):
    """A job: who began it when, and how it ended."""

    kind: JobKind
    about: str = Field(description="its pool, or the rubric; empty where it is about all")
    clusters: tuple[int, ...] = Field(default=(), description="of the pool, which `questions` or a `summary` are about")
    by: str
    began: float = Field(description="Unix time in seconds")
    ended: float | None = Field(default=None, description="null while it is at work")
    fault: str | None = Field(default=None, description="why it came to nothing, if so")


JobReplies = list[JobReply]


class Jobs(Calls[Asked]):
    """Long work on the machine of `memshare serve`, one of a kind at a time. It takes the right `admin`."""

    @call("get_jobs", "GET", "/v1/jobs", tag="jobs")
    def list(self) -> JobReplies:
        """The last job of each kind: at work, or how it ended within a week."""

    @call("post_job", "POST", "/v1/jobs", tag="jobs", status=202, repeatable=False)
    def begin(
        self,
        kind: JobKind,
        *,
        pool: str | None = None,
        name: str | None = None,
        domain: str | None = None,
        clusters: Sequence[int] | None = None,
        topic: str | None = None,
        goal: str | None = None,
        memories: Sequence[UUID | str] | None = None,
        lines: str | None = None,
        new_pool: bool | None = None,
        source: str | None = None,
        score: str | None = None,
        at_least: float | None = None,
        scale: str | None = None,
    ) -> JobReply:
        """Begin a `backup` into the folder `backups` of the data, naming the `concepts` of a `pool`'s older memories, a
        `consolidation`, the `trial` of one, a `recheck` of a `pool`, or a draft of the `rubric` with this `name` for a
        `domain`.

        Or five new `questions` on `clusters` of a `pool`, on a `topic` and for a `goal` if you name these, which then
        are among `needs.list`; or the `summary` of a cluster, which `concepts.get` then has. Their calls of the agents'
        model are yours. A `purge` removes `memories` for good, of the trash, too; an `import` brings `lines` in, as
        `memories.bring_in` does. These two, and what is about no `pool`, take a token that
        sees all pools.
        """
