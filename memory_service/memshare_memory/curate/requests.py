"""Requests of people to a pool, and replies on what was forgotten, as messages; light to import."""

from __future__ import annotations

import time
from datetime import date, datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from memshare_broker.wire.forms import InWords, Label, Moment, Percent, Written
from memshare_broker.wire.grades import CriterionScore
from memshare_broker.wire.messages import Message, Name
from memshare_memory.memory import KNOWLEDGE, ForgottenMemory, Memory, Status


def _end_of_day(given: Any) -> Any:
    """The end of a day such as "2026-12-31" (UTC), as Unix time in seconds; anything else stays as it is."""
    try:
        return datetime.fromisoformat(f"{given}T23:59:59+00:00").timestamp() if isinstance(given, str) else given
    except ValueError as error:
        raise ValueError("expected a day such as 2026-12-31 (UTC), or Unix time in seconds") from error


def _to_come(until: float) -> float:
    if until <= time.time():
        raise ValueError("it is past: give a day or a time that is to come, or let the memory be hidden")
    return until


Until = Annotated[  # or the last day
    Moment, BeforeValidator(_end_of_day, json_schema_input_type=float | date), AfterValidator(_to_come)
]


class GivenMemory(Message):
    """Data of a pair, or of a statement without a prompt, that is brought in."""

    pool: Name
    prompt: Written | None = None
    answer: Written
    agent: Label | None = None
    kind: Label | None = None
    valid_until: Until | None = None
    new_pool: bool = Field(default=False, description="whether its pool may be one that nobody has yet")


class NewMemory(GivenMemory):
    """A memory that a person brings in."""

    submitter: Label = "anonymous"
    score: Percent | None = None

    @model_validator(mode="before")
    @classmethod
    def _statement(cls, given: Any) -> Any:
        """A text without a prompt and a kind is a statement, whichever way it comes in."""
        if isinstance(given, dict) and given.get("prompt") is None and given.get("kind") is None:
            return {**given, "kind": KNOWLEDGE}
        return given


class Edit(Message):
    """Changes to a memory, and who makes them; None leaves a field as it is.

    With `only_if` it is changed as long as what people edit is still the same as in that. With `why_hidden` its check
    failed, which gave the score: what follows it is stale then.
    """

    id: UUID
    by: Label = "anonymous"
    prompt: Written | None = None
    answer: Written | None = None
    status: Status | None = None
    valid_until: Until | None = None
    score: Percent | None = None
    criteria: dict[str, CriterionScore] | None = None
    why_hidden: str | None = None
    confirmed: Moment | None = Field(default=None, description="when it was last of use; 0: that is not known")
    only_if: Memory | None = None


class EditedMemory(Memory):
    """A memory as an edit left it, and how many others are active again, as it has the text that they rest on."""

    active_again: int = 0


class ConflictDecision(Message):
    """Decision of a person on two memories of one pool: whether they contradict each other, and which is `right`.

    Where one is `right` they do, unless `contradict` denies it. With `undecided` an earlier decision is taken back:
    somebody has to decide again.
    """

    memories: tuple[UUID, UUID]
    contradict: bool | None = None
    right: UUID | None = None
    undecided: bool = False

    @model_validator(mode="before")
    @classmethod
    def _right_of_two(cls, given: object) -> object:
        if isinstance(given, dict) and given.get("right") and given.get("contradict") is None:
            return {**given, "contradict": True}
        return given

    @model_validator(mode="after")
    def _one_of_both(self) -> ConflictDecision:
        if self.undecided == (self.contradict is not None):
            raise ValueError("say whether they contradict each other with 'contradict', or 'undecided'")
        if self.right is not None and not (self.contradict and self.right in self.memories):
            raise ValueError("'right' is one of two that contradict each other")
        return self


class Forget(Message):
    """Which memories to forget: these, all of a submitter, all that a model wrote, or all of a task."""

    ids: tuple[UUID, ...] = ()
    submitter: str | None = None
    model: str | None = None
    task_id: str | None = None
    with_children: bool = False
    only_children: bool = Field(default=False, description="what was derived from them, and not they themselves")
    roll_back: bool = Field(default=False, description="whether the submitter's tasks lose what credit they gave, too")


class RestoreForgotten(Message):
    """Which memories to take back out of the trash: these, or all of a submitter."""

    ids: tuple[UUID, ...] = ()
    submitter: str | None = None


class TrashRequest(Message):
    """Which forgotten memories to look at, the last one forgotten first; `prefix` is what their ids begin with.

    With `ids` those of them that are there. With `pools` those of other pools do not count.
    """

    submitter: str | None = None
    pools: tuple[str, ...] | None = None
    ids: tuple[UUID, ...] = ()
    prefix: Annotated[str, Field(pattern=r"^[0-9a-f-]{0,36}$"), InWords("the beginning of an id")] = ""
    limit: int = Field(default=50, ge=1, le=1_000)


class ForgetPreview(Message):
    """Preview of forgetting: the number of memories, their pools, and the first of them.

    `derived` counts those that were derived from the ones asked for, `trashed` those that are in the trash already.
    """

    memories: int
    by_pool: dict[str, int]
    derived: int
    trashed: int
    examples: tuple[Memory, ...]


class TrashPage(Message):
    """Forgotten memories, the last one forgotten first, and how many there are in all that were asked for."""

    total: int
    forgotten: tuple[ForgottenMemory, ...]


class RestoredMemories(Message):
    """Which memories are back, and which were not taken back because the pool has one with the same id."""

    restored: tuple[UUID, ...]
    there: tuple[UUID, ...]


class Purged(Message):
    """Result of a purge, which is final; `open_messages` counts messages under way that still have purged data."""

    memories: tuple[UUID, ...]
    journeys: int
    dead_letters: int
    open_messages: int


class FilesRewritten(Message):
    """Whose files were rewritten, so that nothing of what was removed stands in them."""

    pool: bool = Field(description="whether the pool's were, which a Qdrant server does by itself, in its own time")
    redis: bool = Field(
        description="whether those of Redis were: its append-only log, and its snapshot if it makes any"
    )
    copies: tuple[str, ...] = Field(description="folders beside the pool's that may have it, too")
