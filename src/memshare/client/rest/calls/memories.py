"""Memories: search, look through, read, bring in, change and forget them, and bring them back out of the trash."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Literal, TypedDict, Unpack
from uuid import UUID

from pydantic import Field

from memshare.client.replies import Accepted
from memshare.client.rest.methods import Asked, Calls, call
from memshare_broker.wire.messages import Message, Usage
from memshare_memory.belief.lift import Lift
from memshare_memory.curate.requests import ForgetPreview, RestoredMemories
from memshare_memory.door.messages import Contradicted
from memshare_memory.memory import CalledWrong, Memory, Mode, Status
from memshare_memory.stores.store import SortKey

ListedStatus = Status | Literal["contradicted", "found wrong"]
"""A status, or that others contradict a memory, which is undecided, or that a person found another one right or called
its answer wrong."""


class ConditionArguments(TypedDict, total=False):
    """Which memories count, by what is known of them; days are of UTC."""

    agent: str | None
    kind: str | None
    submitter: str | None
    model: str | None
    since: date | str | None
    until: date | str | None
    words: Sequence[str]
    score_from: float | None
    score_to: float | None
    credibility_from: float | None
    credibility_to: float | None


class FilterArguments(ConditionArguments, total=False):
    """The same for a recall, with memories that are left out."""

    not_shown: Sequence[UUID | str]


class FoundMemory(Message):
    """A memory that a search found."""

    memory: Memory
    similarity: float
    near: bool = Field(description="whether it is near enough to be an answer, or has the text word for word")
    lost_to: tuple[UUID, ...] = Field(default=(), description="those that a person found right in its place, if any")


class SearchReply(Message):
    """Memories found by a search, the nearest first; `far` says, where none is near, how near the nearest is."""

    far: str = ""

    memories: tuple[FoundMemory, ...]


class MemoryReply(Contradicted):
    """A memory, what it has been worth, and the memories that contradict it."""

    memory: Memory
    version: str = Field(description="what a change of it names; the same as its ETag")
    credibility: float
    credits: int = Field(description="verdicts: grades and feedback after it was shown, of a statement if followed")
    lift: Lift
    called_wrong: CalledWrong | None = Field(
        default=None, description="who called its answer wrong, if it is hidden for that"
    )
    active_again: int = Field(
        default=0, description="after an edit: how many stale memories are active, as it has the text they rest on"
    )


class MemoriesReply(Message):
    """Some memories, and the cursor of the next page, if there is one."""

    memories: tuple[Memory, ...]
    next: str | None


class CountsReply(Message):
    """How many memories there are: pools and statuses counted, of other fields the most frequent values, estimated."""

    total: int
    pool: dict[str, int]
    kind: dict[str, int]
    agent: dict[str, int]
    submitter: dict[str, int]
    model: dict[str, int]
    status: dict[str, int]


class ShownTo(Message):
    """A task that a memory was recalled for; of a long prompt its beginning."""

    id: str = Field(description="of its journey")
    agent: str
    submitter: str
    submitted: float
    prompt: str
    similarity: float
    withheld: bool = Field(description="whether it was, at random, not shown, to measure what showing it does")
    share: float | None = Field(description="how much of the answer is from it, or of it in there; 0: not followed")
    follows: bool = Field(default=False, description="whether the answer follows it, in other words too")
    feedback: float | None
    opinion: Literal["right", "wrong"] | None = Field(default=None, description="what a person said of the answer")
    score: float | None
    accepted: bool | None


class ShownReply(Message):
    """The tasks that a memory was recalled for, the latest first, and what came of them."""

    shown: float | None = Field(description="mean score of the tasks that it was shown to; not found wrong")
    withheld: float | None = Field(description="mean score of those from which it was withheld")
    journeys: tuple[ShownTo, ...]
    total: int
    looked_at: int = Field(description="how many of the latest journeys were looked at")
    cost: Usage | None = Field(description="tokens of the journey that made it; null where that is not known any more")


class Forgotten(Message):
    """Memories that went into the trash, where they stay for 30 days."""

    ids: tuple[UUID, ...]


class Hidden(Message):
    """Memories that are hidden now: the one that was called wrong, and those that say the same."""

    ids: tuple[UUID, ...]


class RefusedLine(Message):
    """A line of a file that cannot be brought in; without a number, the file itself."""

    line: int | None
    why: str


class IncomingMemory(Message):
    """A memory that is new to the pool."""

    pool: str
    prompt: str | None
    answer: str


class ImportReply(Message):
    """Memories that were brought in or, in a dry run, would be: none while a line is refused."""

    new: int
    there: int = Field(description="which the pool has already")
    left_out: int = Field(description="lines or runs that bring nothing")
    why: dict[str, int] = Field(default={}, description="why how many are left out")
    places: dict[str, tuple[str, ...]] = Field(default={}, description="their lines or runs, the first ones of each")
    examples: tuple[IncomingMemory, ...] = Field(description="the first ones that are new")
    refused: tuple[RefusedLine, ...]
    unread: str = Field(default="", description="that no agent answers from a pool of theirs, and what to do")


class Memories(Calls[Asked]):
    """The memories themselves: search, look through, read, bring in, change and forget them."""

    @call("post_search", "POST", "/v1/memories/search")
    def search(
        self,
        text: str,
        *,
        pool: str | None = None,
        k: int = 10,
        mode: Mode = "dense",
        status: ListedStatus | None = None,
        **conditions: Unpack[ConditionArguments],
    ) -> SearchReply:
        """The memories nearest to a text, whatever has become of them."""

    @call("get_memories", "GET", "/v1/memories")
    def page(
        self,
        *,
        pool: str | None = None,
        status: ListedStatus | None = None,
        limit: int = 50,
        cursor: str | None = None,
        order: SortKey | None = None,
        ascending: bool = False,
        skip: int = 0,
        parent: UUID | str | None = None,
        **conditions: Unpack[ConditionArguments],
    ) -> MemoriesReply:
        """Memories, a page at a time, or the first ones in an order: by "created", "score" or "credibility".

        `next` of what comes back is the cursor of the next page; in an order `skip` leaves out those before it.
        `parent` asks for what was written from a memory.
        """

    @call("count_memories", "GET", "/v1/memories/counts")
    def count(
        self,
        *,
        pool: str | None = None,
        status: ListedStatus | None = None,
        **conditions: Unpack[ConditionArguments],
    ) -> CountsReply:
        """How many memories there are, and how many of each kind, agent, submitter, model and status."""

    @call("post_memory", "POST", "/v1/memories", status=201)
    def add(
        self,
        answer: str,
        *,
        pool: str,
        prompt: str | None = None,
        agent: str | None = None,
        kind: str | None = None,
        valid_until: float | date | str | None = None,
        new_pool: bool = False,
    ) -> MemoryReply:
        """Bring a memory in, trusted as it is. The same again is the same memory.

        Without a prompt it is a statement. It is hidden after `valid_until`: Unix time in seconds, or a day of UTC.
        """

    @call("import_memories", "POST", "/v1/memories/import")
    def bring_in(
        self,
        lines: str,
        *,
        pool: str | None = None,
        new_pool: bool = False,
        dry_run: bool = False,
        source: str | None = None,
        score: str | None = None,
        at_least: float | None = None,
        scale: str | None = None,
        kind: str | None = None,
    ) -> ImportReply:
        """Bring in what `memshare memories export` wrote, or lines such as {"prompt": …, "answer": …, "pool": …}.

        It takes the right `admin` for all pools. Twice is the same as once. One line that cannot be read, and nothing
        is brought in; with `dry_run` nothing is either, and all such lines are named. Lines that bring nothing, such
        as the same again or what was called wrong, are left out, with `why`. `pool` is that of lines that name none.

        With a `source` (langfuse, langsmith, phoenix, otlp, openai-evals or table) they are graded runs as that exports
        them: those come in that have a `score` of `at_least` so much.
        """

    @call("get_memory", "GET", "/v1/memories/{memory_id}")
    def get(self, memory_id: UUID | str) -> MemoryReply:
        """A memory by its id; a change of it takes its ETag.

        `version` of the reply is the same.
        """

    @call("get_shown_to", "GET", "/v1/memories/{memory_id}/shown")
    def shown_to(self, memory_id: UUID | str, *, limit: int = 50) -> ShownReply:
        """Who was shown a memory among the latest thousand journeys, and what came of it.

        Of journeys that you may see: yours, or with `curate` those of your pools.
        """

    @call("patch_memory", "PATCH", "/v1/memories/{memory_id}", if_match="version", repeatable=False)
    def edit(
        self,
        memory_id: UUID | str,
        version: str,
        *,
        prompt: str | None = None,
        answer: str | None = None,
        status: Status | None = None,
        valid_until: float | date | str | None = None,
    ) -> MemoryReply:
        """Change a memory; one that has changed since you read it is left as it is (412).

        `version` is that of `get`; `Stale` is raised where another one is there now. The status "active" confirms it.
        """

    @call("grade_memory", "POST", "/v1/memories/{memory_id}/grade", status=202)
    def grade(self, memory_id: UUID | str) -> Accepted:
        """Have the answer to a task graded again: a stale one is shown again then, or hidden if its score is too low.

        One that was written from what a person found wrong stays stale where the grade does not know what is right, as
        that of a program. While one is being graded, asking again hands nothing in. You pay for it.
        """

    @call("call_memory_wrong", "POST", "/v1/memories/{memory_id}/wrong")
    def call_wrong(self, memory_id: UUID | str, *, why: str | None = None) -> Hidden:
        """Hide a memory that is wrong, and what says the same: that is not brought in for a like prompt again (409).

        What was written from it is stale. Of what a task wrote it is a word on its journey's answer, taken back with
        that; else the status "active" takes it back, of the copies, too.
        """

    @call("delete_memory", "DELETE", "/v1/memories/{memory_id}", repeatable=False)
    def forget(self, memory_id: UUID | str, *, with_children: bool = False) -> Forgotten:
        """Forget a memory, and with `with_children` what was derived from it: it stays in the trash for 30 days."""

    @call("preview_forgetting", "GET", "/v1/memories/{memory_id}/forgetting")
    def preview(self, memory_id: UUID | str, *, with_children: bool = False) -> ForgetPreview:
        """Preview forgetting: the memories that it would take; nothing is done."""


class TrashedMemory(Message):
    """A forgotten memory. Times are Unix times in seconds."""

    memory: Memory
    forgotten: float
    until: float = Field(description="when it goes for good")


class TrashReply(Message):
    """Forgotten memories, the last one forgotten first, and how many there are in all that were asked for."""

    total: int
    memories: tuple[TrashedMemory, ...]


class TrashCalls(Calls[Asked]):
    """Forgotten memories: list them, and bring them back."""

    @call("get_trash", "GET", "/v1/trash", tag="trash")
    def list(self, *, submitter: str | None = None, limit: int = 50) -> TrashReply:
        """The forgotten memories of your pools that can be brought back, the last forgotten first."""

    @call("restore_memory", "POST", "/v1/trash/{memory_id}/restore", tag="trash", repeatable=False)
    def restore(self, memory_id: UUID | str) -> RestoredMemories:
        """Bring a forgotten memory back as it was: text, score, status and credibility."""
