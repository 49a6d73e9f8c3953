"""Journeys: read, waited for, followed as they change, or ended."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from memshare.client.replies import Accepted
from memshare.client.rest.methods import Asked, Calls, call, stream
from memshare_broker.wire.grades import Opinion, Score
from memshare_broker.wire.lessons import Compared, Extracted, Lesson
from memshare_broker.wire.messages import Message, Quoted, Shown, Step, Turn, Usage

What = Literal["task", "standard answer", "seed", "re-grading"]
"""A standard answer begins with its agent being asked for the question, a seed has its question from the start.

A re-grading is of a memory that there is: nothing is answered.
"""
State = Literal["queued", "asked", "answered", "unanswered", "graded", "cancelled", "settled", "dead"]
"""Unanswered is a task that has only a sentence as its end: there is no model, and no memory is near enough."""


class LetterDecision(Message):
    """A person's decision on what was given up."""

    did: Literal["tried again", "dropped"]
    by: str
    at: float = Field(description="Unix time in seconds")
    others: int = Field(description="how many more dead letters were chosen with it")


class ListedFields(Message):
    """Fields that a journey has alone and in a list."""

    what: What
    state: State
    agent: str
    pool: str | None
    kind: str | None
    submitter: str
    submitted: float
    prompt: str
    remember: bool | None = Field(
        default=None, description="whether a good answer is to be remembered; null: no task, or a sub-question of one"
    )
    answer: str | None
    model: str | None
    memories: tuple[Shown, ...]
    withheld: Shown | None = Field(description="a memory that was recalled and, at random, not shown")
    usage: Usage | None
    seconds: float | None
    score: Score | None
    accepted: bool | None = Field(description="whether the score is good enough to be remembered")
    memory_id: UUID | None
    outcome: str | None
    reason: str | None
    opinion: Opinion | None = Field(
        default=None, description="what somebody said of the answer, by one `reward` of feedback"
    )
    verified: bool | None = Field(description="whether a run in steps ended with a verified answer")


class JourneyFields(ListedFields):
    """Everything that the records of a task or a pair say so far."""

    quoted: Quoted | None = Field(description="the memory whose answer it is, word for word, as there is no model")
    recall_id: UUID | None
    reasoning: str = Field(default="", description="how the model came to its answer, where it tells that")
    notes: tuple[str, ...] = Field(
        default=(), description="what became of the prompt: memories that did not fit, a server that cut it"
    )
    steps: tuple[Step, ...]
    lesson: Lesson | None
    feedback: dict[UUID, float]
    also_hid: tuple[UUID, ...] = Field(
        default=(), description="the memories that were hidden with it, as they say the same as a wrong answer"
    )
    decided: LetterDecision | None = Field(
        default=None, description="who tried it again last after it was given up, or dropped it"
    )
    hops: dict[str, float] = Field(description="when each hop ended, as Unix time in seconds")
    details_dropped: bool = Field(
        default=False, description="whether its details are gone: steps, ranges of the grade, lesson, concepts, `hops`"
    )
    retriever_version: int | None
    parts: dict[UUID, UUID] = Field(description="its sub-questions: the journey of each, by the memory it may become")
    part_of: str | None = Field(description="the journey whose sub-question it is")
    trial: str | None = Field(default=None, description="the rubric that it was graded by only to see what that says")
    compared: Compared | None = Field(description="which memories it contradicts, where it was compared")
    extracted: Extracted | None = Field(description="which concepts its memory has")


class BriefJourney(ListedFields):
    """A journey in a list: fields of the whole one; of a long prompt or answer its beginning."""

    id: str
    ended: bool
    waits: str | None = Field(description="why it waits beside its queue, or is in none")
    cancelled: str | None
    error: str | None = Field(description="why it was given up")


class JourneyReply(BriefJourney, JourneyFields):
    """A task or a pair so far: fields that are not known yet are null."""

    dead_letter: str | None = Field(description="the id of its dead letter, until that is retried or dropped")


class JourneysReply(Message):
    """The journeys that began last, the latest first."""

    journeys: tuple[BriefJourney, ...]
    of_latest: int | None = Field(
        default=None,
        description="where older ones were not looked at: of how many latest ones, of all agents or of the one asked "
        "for, these are; null where the list ends at its `limit` or at `after`, or has all",
    )


class PromptReply(Message):
    """The conversation that an agent's model was sent: its instructions, the memories shown as turns, and the task."""

    turns: tuple[Turn, ...]
    changed: tuple[str, ...] = Field(
        description="what has changed or is gone since, so that the prompt is not whole, or may have been another"
    )


class Cancelled(Message):
    """Outcome of a request to end a journey; a running journey ends after its stage."""

    id: str
    outcome: Literal["cancelled", "running", "ended", "unknown"]


class Journeys(Calls[Asked]):
    """Journeys of tasks and pairs."""

    @call("get_journey", "GET", "/v1/journeys/{journey_id}")
    def get(self, journey_id: str, *, wait: float = 0.0) -> JourneyReply:
        """The journey of a task or of a pair so far.

        Waits up to `wait` seconds (60 at most) for its end.
        """

    @call("get_journeys", "GET", "/v1/journeys")
    def list(
        self,
        *,
        agent: str | None = None,
        submitter: str | None = None,
        state: State | None = None,
        accepted: bool | None = None,
        opinion: Literal["right", "wrong"] | None = None,
        after: float | None = None,
        limit: int = 50,
    ) -> JourneysReply:
        """The journeys that began last: yours, or with `watch` those of your pools.

        They are among the last thousand of all agents, or of `agent`.
        """

    @call("repeat_journey", "POST", "/v1/journeys/{journey_id}/again", status=202, repeatable=False)
    def again(self, journey_id: str, *, memories: int | None = None, remember: bool = True) -> Accepted:
        """Give the task of a journey to its agent again, in a journey of its own.

        `memories` is how many are shown: with 0 the answer shows what the agent does alone. `remember` is as in
        `tasks`.
        """

    @call("get_prompt", "GET", "/v1/journeys/{journey_id}/prompt")
    def prompt(self, journey_id: str) -> PromptReply:
        """The prompt of a task as its agent sent it, made anew; it takes the right `recall`.

        Memories that were edited since stand as they were. There is none where no model was asked, or in steps.
        """

    @stream("get_events", "/v1/journeys/{journey_id}/events")
    def events(self, journey_id: str) -> JourneyReply:
        """The journey at each of its changes, as server-sent events named by its state, until it has ended.

        A stream that breaks off, or is silent for 15 seconds and `timeout`, is asked for again; no state comes twice.
        Raises `Unreachable` where that fails `tries` times in a row. Leave the loop when you have seen enough.
        """

    @call("delete_journey", "DELETE", "/v1/journeys/{journey_id}")
    def cancel(self, journey_id: str) -> Cancelled:
        """Cancel an unfinished journey."""
