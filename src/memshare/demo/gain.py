"""Gain of a shared pool: the same unseen questions without memories, with a shared pool, and after it has learnt.

After it they are asked with the retriever off, with the map that it learnt, and with its encoder consolidated.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any, Literal, Protocol
from uuid import UUID

from memshare.client.client import Client, ended_in_order, wait_until_idle
from memshare.client.journey import Journey
from memshare.demo.play import STALLED_AFTER
from memshare.demo.text_to_sql import Questions, SqlQuestion
from memshare.operate.consolidating import consolidate, retrievers_off, retrievers_on
from memshare.operations.difference import RIGHT, of_pairs
from memshare_broker.errors import MemshareError
from memshare_memory.curate.requests import NewMemory
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where
from memshare_trainer.consolidation.consolidation_state import FEWEST_LESSONS

POOL = AGENT = "sql"
PEOPLE = ("ann", "ben", "cem", "dee")
ROUNDS = 4  # in which the tasks are asked
ORDER = 2  # seed of which question is in which part, where none is given

Exam = Literal["alone", "shared", "off", "learnt", "consolidated"]
Kind = Exam | Literal["task"]
EXAMS = 5  # times that the unseen questions are asked, the last one where the encoder is consolidated


@dataclass(frozen=True)
class GainQuestion:
    """A question and its outcome. `right` is None where nothing graded it: `fault` says why."""

    question: SqlQuestion
    right: bool | None
    shown: tuple[UUID, ...]
    fault: str | None


@dataclass
class DemoStage:
    """Questions that were asked together; no memory has the answer to any."""

    kind: Kind
    title: str
    size: int
    asked: list[GainQuestion] = field(default_factory=list)

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
    def shown(self) -> float:
        """The mean number of memories that a question was shown; 0 of none."""
        return fmean(len(one.shown) for one in self.asked) if self.asked else 0.0

    @property
    def faults(self) -> list[str]:
        return [one.fault for one in self.asked if one.fault]

    def as_json(self) -> dict[str, Any]:
        counted = {"asked": len(self.asked), "graded": self.graded, "right": self.right, "share": round(self.share, 4)}
        return {"kind": self.kind, "title": self.title, **counted, "shown": round(self.shown, 2), "faults": self.faults}


@dataclass(frozen=True)
class Gain:
    """How many more of the same questions were answered right in the later of two stages, as a share.

    The 95 % interval is from `low` to `high`, as if chance had drawn the forms of the questions; None below ten forms.
    """

    share: float
    won: int
    lost: int
    low: float | None = None
    high: float | None = None

    @classmethod
    def between(cls, before: DemoStage, after: DemoStage) -> Gain:
        graded = {one.question.text: one.right for one in before.asked if one.right is not None}
        paired = [one for one in after.asked if one.right is not None and one.question.text in graded]
        pairs = [(RIGHT * graded[one.question.text], RIGHT * bool(one.right)) for one in paired]
        steps = [int((later - earlier) / RIGHT) for earlier, later in pairs] or [0]
        found = of_pairs(pairs, clusters=[one.question.query.number for one in paired])
        ends = (found.low / RIGHT, found.high / RIGHT) if found else (None, None)
        return cls(fmean(steps), steps.count(1), steps.count(-1), *ends)

    def as_json(self) -> dict[str, Any]:
        return {name: one if one is None else round(one, 4) for name, one in asdict(self).items()}


class DemoWatch(Protocol):
    """Is told how far it is."""

    def say(self, what: str) -> None:
        """Report the current activity."""

    def see(self, stage: DemoStage) -> None:
        """A stage has begun, more of it is known, or it has ended."""


@dataclass(frozen=True)
class Parts:
    """Questions in parts that have none in common: memories, tasks, and an exam that is asked up to five times."""

    shared: tuple[SqlQuestion, ...]
    tasks: tuple[SqlQuestion, ...]
    exam: tuple[SqlQuestion, ...]

    @property
    def asked(self) -> int:
        """How many questions are asked in all, where the encoder is consolidated."""
        return len(self.tasks) + EXAMS * len(self.exam)


def divide(questions: Questions, tasks: int, seed: int = ORDER) -> Parts:
    """So many tasks, as many memories, and an exam of half as many; chance decides which question is where."""
    every = questions.of("train")
    random.Random(seed).shuffle(every)
    rest = iter(every)
    shared, asked, exam = (tuple(next(rest) for _ in range(size)) for size in (tasks, tasks, tasks // 2))
    return Parts(shared, asked, exam)


def play(client: Client, parts: Parts, watch: DemoWatch) -> tuple[list[DemoStage], str | None]:
    """Ask an exam without memories, with those of the pool, and after the tasks. Nothing is remembered of an exam.

    Returns the stages, and why the encoder was not consolidated, if so. Raises `MemshareError` where nothing of it is
    graded the first time, and `Unreachable` where nothing ends for long.
    """
    exam = parts.exam
    stages = [_ask(client, DemoStage("alone", "alone, no memories", len(exam)), exam, watch, memories=0)]
    if not stages[0].graded:
        raise MemshareError(f"None of {len(exam)} answers was graded, so the demo ends here: {stages[0].faults[0]}")

    watch.say(f"{', '.join(PEOPLE)} bring in {len(parts.shared)} questions with their queries")
    client.memories.add([_brought(one, PEOPLE[at % len(PEOPLE)]) for at, one in enumerate(parts.shared)])
    stages.append(_ask(client, DemoStage("shared", "with a shared pool", len(exam)), exam, watch))

    size = -(-len(parts.tasks) // ROUNDS)
    for start in range(0, len(parts.tasks), size):
        tasks = parts.tasks[start : start + size]
        stage = DemoStage("task", f"graded tasks {start + 1} to {start + len(tasks)}", len(tasks))
        stages.append(_ask(client, stage, tasks, watch, remember=True))
    watch.say("the retriever learns what helped")
    wait_until_idle(client, STALLED_AFTER)

    def ask_again(kind: Kind, what: str) -> None:
        stages.append(_ask(client, DemoStage(kind, f"later, {what}", len(exam)), exam, watch))

    retrievers_off(client)
    try:
        ask_again("off", "retriever off")
    finally:
        retrievers_on(client)
    ask_again("learnt", "with its map")
    watch.say(f"training the encoder on what helped, if there are {FEWEST_LESSONS} lessons")
    refused = consolidate(client)
    if refused is None:
        ask_again("consolidated", "consolidated")
    return stages, refused


@dataclass(frozen=True)
class Helped:
    """A memory, and the questions that were answered right with its query after they were shown it."""

    memory: Memory
    questions: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"id": str(self.memory.id), "prompt": self.memory.prompt, "questions": list(self.questions)}


def most_helpful(client: Client, stages: Sequence[DemoStage], questions: Questions) -> Helped | None:
    """The memory that was shown for most questions with a right answer of its own query; None where none was."""
    memories = {one.id: one for one in client.memories.every(Where(pool=POOL))}
    queries = {one.text: one.query.number for one in questions.of("train")}
    found = dict.fromkeys(
        (memory, one.question.text)
        for stage in stages
        for one in stage.asked
        for memory in one.shown
        if one.right and memory in memories and queries.get(memories[memory].prompt or "") == one.question.query.number
    )
    if not found:
        return None
    [(best, _)] = Counter(memory for memory, _ in found).most_common(1)
    return Helped(memories[best], tuple(question for memory, question in found if memory == best))


def _brought(question: SqlQuestion, submitter: str) -> NewMemory:
    return NewMemory(
        pool=POOL, new_pool=True, prompt=question.text, answer=question.sql, agent=AGENT, submitter=submitter
    )


def _ask(
    client: Client,
    stage: DemoStage,
    questions: Sequence[SqlQuestion],
    watch: DemoWatch,
    *,
    memories: int | None = None,
    remember: bool = False,
) -> DemoStage:
    """Ask questions at once, and wait until each is graded."""
    watch.see(stage)
    submitted = {}
    for at, one in enumerate(questions):
        by = PEOPLE[at % len(PEOPLE)]
        task = client.submit(AGENT, one.text, memories=memories, remember=remember, submitter=by)
        submitted[task.id] = one
    for journey in ended_in_order(client, list(submitted), STALLED_AFTER):
        stage.asked.append(_asked(submitted[journey.task_id], journey))
        watch.see(stage)
    return stage


def _asked(question: SqlQuestion, journey: Journey) -> GainQuestion:
    shown = tuple(one.id for one in journey.memories)
    if journey.score is not None:
        return GainQuestion(question, journey.score.accepted, shown, None)
    return GainQuestion(question, None, shown, journey.dead.error if journey.dead else "It was cancelled.")
