"""The request for a recall: which memories of a pool may be shown with a task."""

from __future__ import annotations

from pydantic import Field

from memshare_broker.wire.forms import Label
from memshare_broker.wire.messages import MAX_MEMORIES, Message
from memshare_broker.wire.spaces import MOST_SPACES
from memshare_memory.memory import Mode
from memshare_memory.stores.store import Where

AskedBy = Field(default=None, description="who asks: the texts of each have a turn at the encoder")


class RecallRequest(Message):
    """Which memories may be shown with a task: the k best of a pool and of those `beside` it, `among` those.

    The pool and the status of `among` do not count: what is hidden or stale is never shown.
    """

    pool: Label
    beside: tuple[Label, ...] = Field(default=(), max_length=MOST_SPACES, description="pools that are searched, too")
    text: str
    k: int = Field(ge=0, le=MAX_MEMORIES)
    mode: Mode = "dense"
    among: Where = Where()
    kind: Label | None = Field(default=None, description="the kind of the task, which says nothing of theirs")
    submitter: Label | None = Field(
        default=None, description="whose task it is: what came of the same task of theirs is no example for it"
    )
    reader: str | None = Field(default=None, description="the model that is to answer")
    new_pool: bool = Field(default=False, description="whether its pool may be one that nobody has yet")
    asked_by: Label | None = AskedBy
