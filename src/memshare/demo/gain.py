"""What a shared pool gives: unseen questions, asked without memories, with a shared pool, and after it has learnt."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from uuid import UUID

from memshare.client.client import Client
from memshare.client.journey import Journey
from memshare.demo.play import STALLED_AFTER
from memshare.demo.text_to_sql import Question, Questions
from memshare_broker.errors import MemshareError, Unreachable
from memshare_memory.curate.requests import NewMemory
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where

AGENT, POOL = "sql", "library"
PEOPLE = ("ann", "ben", "cem", "dee")
ROUNDS = 4  # in which the tasks are asked
ORDER = 2  # seed of which question is in which part
LOOK_EVERY = 0.05  # seconds

Kind = Literal["alone", "shared", "task", "learnt"]


@dataclass(frozen=True)
class Asked:
    """One question and what became of it. `right` is None where nothing graded it: `fault` says why."""

    question: Question
    right: bool | None
    shown: tuple[UUID, ...]
    fault: str | None


@dataclass
class Stage:
    """Questions that were asked together; none was asked before, and no memory has its answer."""

    kind: Kind
    title: str
    size: int
    asked: list[Asked] = field(default_factory=list)

    @property
    def right(self) -> int:
        return sum(one.right is True for one in self.asked)

    @property
    def graded(self) -> int:
        return sum(one.right is not None for one in self.asked)

    @property
    def share(self) -> float:
        """The share of right answers among the graded ones; 0 of none."""
        return self.right / self.graded if self.graded else 0.0

    @property
    def faults(self) -> list[str]:
        return [one.fault for one in self.asked if one.fault]

    def as_json(self) -> dict[str, Any]:
        counted = {"asked": len(self.asked), "graded": self.graded, "right": self.right, "share": round(self.share, 4)}
        return {"kind": self.kind, "title": self.title, **counted, "faults": self.faults}


class Watch(Protocol):
    """Is told how far it is."""

    def say(self, what: str) -> None:
        """What is being done now."""

    def see(self, stage: Stage) -> None:
        """A stage has begun, more of it is known, or it has ended."""


@dataclass(frozen=True)
class Parts:
    """Questions in parts that have none in common: memories, tasks, and an exam for each of three stages."""

    shared: tuple[Question, ...]
    tasks: tuple[Question, ...]
    exams: tuple[tuple[Question, ...], ...]

    @property
    def asked(self) -> int:
        """How many questions are asked in all."""
        return len(self.tasks) + sum(map(len, self.exams))


def divide(questions: Questions, tasks: int) -> Parts:
    """So many tasks, as many memories, and exams of half as many; chance decides which question is where."""
    every = questions.of("train")
    random.Random(ORDER).shuffle(every)
    rest = iter(every)
    shared, asked, *exams = (
        tuple(next(rest) for _ in range(size)) for size in (tasks, tasks, tasks // 2, tasks // 2, tasks // 2)
    )
    return Parts(shared, asked, tuple(exams))


def play(client: Client, parts: Parts, watch: Watch) -> list[Stage]:
    """Ask an exam without memories, one with those of the pool, the tasks, and one with what the tasks left.

    Raises `MemshareError` where nothing of the first exam is graded, and `Unreachable` where nothing ends for long.
    """
    alone, shared, learnt = parts.exams
    stages = [_ask(client, Stage("alone", "alone, without memories", len(alone)), alone, watch, memories=0)]
    if not stages[0].graded:
        raise MemshareError(f"None of {len(alone)} answers was graded, so the demo ends here: {stages[0].faults[0]}")

    watch.say(f"{', '.join(PEOPLE)} bring in {len(parts.shared)} questions with their queries")
    client.memories.add([_brought(one, PEOPLE[at % len(PEOPLE)]) for at, one in enumerate(parts.shared)])
    stages.append(_ask(client, Stage("shared", "with a shared pool", len(shared)), shared, watch))

    size = -(-len(parts.tasks) // ROUNDS)
    for start in range(0, len(parts.tasks), size):
        tasks = parts.tasks[start : start + size]
        stage = Stage("task", f"graded tasks {start + 1} to {start + len(tasks)}", len(tasks))
        stages.append(_ask(client, stage, tasks, watch, remember=True))
    watch.say("the retriever learns what helped")
    _wait_for_lessons(client)

    stages.append(_ask(client, Stage("learnt", f"after {len(parts.tasks)} graded tasks", len(learnt)), learnt, watch))
    return stages


@dataclass(frozen=True)
class Helped:
    """A memory, and the questions that were answered right with its query after they were shown it."""

    memory: Memory
    questions: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"id": str(self.memory.id), "prompt": self.memory.prompt, "questions": list(self.questions)}


def most_helpful(client: Client, stages: Sequence[Stage], questions: Questions) -> Helped | None:
    """The memory that was shown for most right answers whose query is its own; None where none was."""
    memories = {one.id: one for one in client.memories.every(Where(pool=POOL))}
    queries = {one.text: one.query.number for one in questions.of("train")}
    found = [
        (memory, one.question)
        for stage in stages
        for one in stage.asked
        for memory in one.shown
        if one.right and memory in memories and queries.get(memories[memory].prompt or "") == one.question.query.number
    ]
    if not found:
        return None
    [(best, _)] = Counter(memory for memory, _ in found).most_common(1)
    return Helped(memories[best], tuple(question.text for memory, question in found if memory == best))


def _brought(question: Question, submitter: str) -> NewMemory:
    return NewMemory(
        pool=POOL, new_pool=True, prompt=question.text, answer=question.sql, agent=AGENT, submitter=submitter
    )


def _ask(
    client: Client,
    stage: Stage,
    questions: Sequence[Question],
    watch: Watch,
    *,
    memories: int | None = None,
    remember: bool = False,
) -> Stage:
    """Ask questions at once, and wait until each is graded."""
    watch.see(stage)
    submitted = {}
    for at, one in enumerate(questions):
        by = PEOPLE[at % len(PEOPLE)]
        task = client.submit(AGENT, one.text, memories=memories, remember=remember, submitter=by)
        submitted[task.id] = one
    for journey in _ended(client, submitted):
        stage.asked.append(_asked(submitted[journey.task_id], journey))
        watch.see(stage)
    return stage


def _ended(client: Client, tasks: Mapping[str, Question]) -> Iterator[Journey]:
    """The journeys of tasks as they end."""
    left, last = set(tasks), time.monotonic()
    while left:
        for task_id in list(left):
            if (journey := client.journey(task_id)).ended:
                left.remove(task_id)
                last = time.monotonic()
                yield journey
        if time.monotonic() - last > STALLED_AFTER:
            raise Unreachable(f"Nothing was graded for {STALLED_AFTER} s; the workers' logs say more.")
        time.sleep(LOOK_EVERY)


def _asked(question: Question, journey: Journey) -> Asked:
    shown = tuple(one.id for one in journey.memories)
    if journey.score is not None:
        return Asked(question, journey.score.accepted, shown, None)
    return Asked(question, None, shown, journey.dead.error if journey.dead else "It was cancelled.")


def _wait_for_lessons(client: Client) -> None:
    deadline = time.monotonic() + STALLED_AFTER
    while any(client.ledger.open_messages().values()):
        if time.monotonic() > deadline:
            raise Unreachable(f"Lessons are still open after {STALLED_AFTER} s; the trainer's log says more.")
        time.sleep(LOOK_EVERY)
