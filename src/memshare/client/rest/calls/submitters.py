"""Submitters: what the words on their memories come to in a pool, and a person's word on them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message
from memshare_memory.belief.trust import Said


class SubmitterReply(Message):
    """A submitter of a pool. Worth is in the unit of a cosine, where 0 is the pool's mean."""

    name: str
    worth: float | None = Field(description="null where nobody has said anything of their memories")
    error: float | None
    words: int = Field(description="graded tasks, labels and feedback of others that spoke of their memories")
    proven: bool = Field(description="whether their memories are shown as proven ones: by these words, or by trust")
    said: Said | None = Field(description="what a person said of them")
    by: str | None = Field(description="who said that")


SubmitterReplies = list[SubmitterReply]


class SubmitterCalls(Calls[Asked]):
    """Who brings memories in, and whether they are proven."""

    @call("get_submitters", "GET", "/v1/submitters/{pool}")
    def list(self, pool: str) -> SubmitterReplies:
        """The submitters of a pool of whom something was said, by name; it takes the right `recall`."""

    @call("post_trust", "POST", "/v1/submitters/{pool}")
    def trust(
        self, pool: str, submitter: str, *, said: Literal["trust", "leave", "undecided"] = "trust"
    ) -> SubmitterReply:
        """Trust a submitter, whose memories are shown as proven ones from then on; it takes the right `curate`.

        `leave` says that they stay unproven until words prove them, and need nobody; `undecided` takes either back.
        """
