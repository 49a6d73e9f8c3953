"""The hops of a task's journey, each said once: its Celery task and queue, its message, and what it leaves on record.

A stage takes a hop's messages, `Stage(SETTLE, run)`, and sends the next one, `SETTLE.next(graded)`. Whatever concerns
all hops goes over `HOPS`: the journey as it is shown, cancelling, the reference of messages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import TypeAdapter

from memshare_broker.app import CONCEPTS_QUEUE, MEMORY_QUEUE, SCORER_QUEUE, TRAINER_QUEUE
from memshare_broker.delivery.schema import Entry
from memshare_broker.wire import grades, lessons
from memshare_broker.wire.messages import USUAL_PRIORITY, AgentTask, Answer, AnyPair, Message, Priority, derived_id

M = TypeVar("M", bound=Message)
R = TypeVar("R", bound=Message)
BEHIND = 6  # the priority of what nobody waits for, or a later one
AGENT = "{agent}"
"""Stands for an agent's name in the task and the queue of its hops: see `Hop.of`."""


@dataclass(frozen=True)
class Hop(Generic[M, R]):
    """A hop of a journey: a Celery task of a queue, the message that it takes, and its record."""

    name: str
    ended: str
    """Words that a person reads once it has ended."""
    task: str
    queue: str
    message: type[M] | TypeAdapter[M]
    """Its form; an adapter where it is one of several."""
    record: type[R]
    journey_at: tuple[str, ...] = ("journey",)
    """Where in the message's JSON the journey's id stands, such as ("task", "journey"). Nowhere: the message begins a
    journey of its own, which has the message's id."""
    begins: bool = False
    """True if a journey may begin here; the journey then shows this message as its task."""
    from_outside: bool = False
    """True if anybody who reaches the queue may begin a journey here. Every other message is signed."""
    has_result: bool = False
    """True if a caller waits for its record, as the result of the Celery task."""
    kept: tuple[str, ...] | None = ()
    """Fields of the record that are known for ever of a journey that is kept (`outcome_record`). None where the end of
    the hop, even as a dead letter, says nothing of what became of the journey."""

    behind: bool = False
    """True if nobody waits for it, so that it goes behind other messages of its queue."""
    details: tuple[str, ...] | None = ()
    """Fields of the record that only a trace shows: they are kept for MEMSHARE_KEEP_TRACES_DAYS. None: all of them."""

    def of(self, agent: str) -> Hop[M, R]:
        return replace(self, task=self.task.replace(AGENT, agent), queue=self.queue.replace(AGENT, agent))

    def read(self, body: object) -> M:
        """The message that such JSON is; raises `ValidationError`."""
        if isinstance(self.message, TypeAdapter):
            return self.message.validate_python(body)
        return self.message.model_validate(body)

    def next(
        self, body: M, journey: str = "", priority: Priority | None = None, *, begins: bool | None = None
    ) -> NextMessage:
        """A message for this hop; the rest is as in `NextMessage`."""
        return NextMessage(self, body, journey, priority, begins)

    def id_in(self, journey: str) -> str:
        """The id of this hop's message of a journey."""
        return str(derived_id(journey, self.name)) if self.journey_at else journey


class NextMessage(NamedTuple):
    """A message for the next hop, or for the first one of a journey. A hop has one message in a journey."""

    hop: Hop[Any, Any]
    body: Message
    journey: str = ""
    """A journey of its own, which its body names; empty: the one that it follows from."""
    priority: Priority | None = None
    """None: that of the message that it follows from."""
    begins: bool | None = None
    """True if the journey shows it as its task; None: as is usual for the hop."""
    decides: bool | None = None
    """True if its end is part of the journey's outcome; None: as is usual for the hop."""

    @property
    def id(self) -> str:
        """Its id, where it has a journey of its own."""
        return self.hop.id_in(self.journey)

    @property
    def as_json(self) -> dict[str, Any]:
        return self.body.model_dump(mode="json", exclude_none=not self.hop.journey_at)

    def entry(self, journey: str = "", priority: Priority = USUAL_PRIORITY) -> Entry:
        """The message as the ledger has it, not yet signed; it is the same one however often it is made.

        `journey` and `priority` are those of the message that it follows from.
        """
        hop, name = self.hop, self.journey or journey
        level = priority if self.priority is None else self.priority
        return Entry(
            id=hop.id_in(name),
            task=hop.task,
            queue=hop.queue,
            body=self.as_json,
            journey=name,
            stage=hop.name,
            priority=max(level, BEHIND) if hop.behind else level,
            has_result=hop.has_result,
            begins=hop.begins and not hop.journey_at if self.begins is None else self.begins,
            decides=hop.kept is not None if self.decides is None else self.decides,
        )


ANSWER = Hop(
    "answer", "answered", f"agents.{AGENT}", AGENT, AgentTask, Answer, (),
    begins=True, from_outside=True, has_result=True, details=("steps", "reasoning"),
)  # fmt: skip
QUESTION = Hop(
    "question", "question", f"agents.{AGENT}.question", AGENT, grades.QuestionTask, grades.Question, (),
    begins=True, kept=("question",),
)  # fmt: skip
GRADED = ("total", "threshold", "accepted")
RANGES = ("criteria",)
SCORE: Hop[AnyPair, grades.Score] = Hop(
    "score", "graded", "scorer.score", SCORER_QUEUE, TypeAdapter(AnyPair), grades.Score,
    begins=True, kept=GRADED, details=RANGES,
)  # fmt: skip
OFFER = Hop(
    "score", "graded", "scorer.offer", SCORER_QUEUE, grades.OfferedPair, grades.Score, (),
    begins=True, from_outside=True, kept=GRADED, details=RANGES,
)  # fmt: skip
SETTLE = Hop(
    "settle", "remembered", "memory_service.settle", MEMORY_QUEUE, grades.GradedTask, grades.Settlement,
    ("task", "journey"), kept=("outcome", "memory_id"),
)  # fmt: skip
CREDIT = Hop(
    "credit", "memories credited", "memory_service.credit", MEMORY_QUEUE, grades.VerdictTask, grades.MemoriesCredited,
    details=None,
)  # fmt: skip
COMPARE = Hop(
    "compare", "compared", "scorer.compare", SCORER_QUEUE, lessons.CompareTask, lessons.Compared,
    kept=None, behind=True, details=None,
)  # fmt: skip
NOTE_COMPARED = Hop(
    "pairs", "contradictions noted", "memory_service.compared", MEMORY_QUEUE, lessons.ComparedPairs, lessons.NotedPairs,
    kept=None, details=None,
)  # fmt: skip
LEARN = Hop(
    "learn", "learnt", "retriever_trainer.learn", TRAINER_QUEUE, lessons.LessonTask, lessons.Lesson,
    kept=None, behind=True, details=None,
)  # fmt: skip
EXTRACT = Hop(
    "extract", "concepts", "concepts.extract", CONCEPTS_QUEUE, lessons.ExtractTask, lessons.Extracted,
    kept=None, behind=True, details=None,
)  # fmt: skip
NOTE_CONCEPTS = Hop(
    "concepts", "concepts written", "memory_service.concepts", MEMORY_QUEUE, lessons.Extracted, lessons.NotedConcepts,
    kept=None, details=None,
)  # fmt: skip
HOPS: tuple[Hop[Any, Any], ...] = (
    ANSWER, QUESTION, SCORE, OFFER, SETTLE, CREDIT, COMPARE, NOTE_COMPARED, LEARN, EXTRACT, NOTE_CONCEPTS,
)  # fmt: skip
