"""Jobs: long work that is begun here, and goes on in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message

JobKind = Literal["backup", "concepts", "consolidation", "recheck", "trial", "rubric", "questions", "summary"]


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

    @call("get_jobs", "GET", "/v1/jobs")
    def list(self) -> JobReplies:
        """The last job of each kind: at work, or how it ended within a week."""

    @call("post_job", "POST", "/v1/jobs", status=202, repeatable=False)
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
    ) -> JobReply:
        """Begin a `backup` into the folder `backups` of the data, naming the `concepts` of a `pool`'s older memories, a
        `consolidation`, the `trial` of one, a `recheck` of a `pool`, or a draft of the `rubric` with this `name` for a
        `domain`.

        Or five new `questions` on `clusters` of a `pool`, on a `topic` and for a `goal` if you name these, which then
        are among `needs.list`; or the `summary` of a cluster, which `concepts.get` then has. Their calls of the agents'
        model are yours. What is about no `pool` takes a token that sees all pools.
        """
