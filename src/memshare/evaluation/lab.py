"""The workspace of an experiment: agents to ask, pools to fill, and a place for measurements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from uuid import UUID

from pydantic import Field

from memshare.evaluation.data import DataItem, Split
from memshare.evaluation.queues import AnsweredItem, Change, ExperimentTask, Queues, Settled, edit, put
from memshare.evaluation.variants import Label, Setup
from memshare_agents.roster import Agent
from memshare_broker.wire.messages import Message

SHOWN = 3  # memories; the best number in the paper
PEOPLE = "people"  # who wrote the standard answers


class Measured(Message):
    """An answered item, to which figures can be traced. `condition` and `phase` say in which cell it counts."""

    condition: str
    phase: str = ""
    model: str
    agent: str
    kind: str | None
    item: str
    task_id: str
    prompt: str
    reference: str
    answer: str
    score: float | None = Field(description="of 100; None where it was not verified, or the task was given up")
    graded_by: str | None = Field(
        default=None, description="the scorer's model, or 'program' where checks alone graded"
    )
    judged: float | None = Field(default=None, description="of 100, by the second judge")
    verified: bool = Field(default=True, description="False: its agent rejected its own answer")
    accepted: bool
    shown: tuple[UUID, ...]
    similarities: tuple[float, ...]
    memories: tuple[tuple[str, str], ...] = Field(default=(), description="prompt and answer of each that was shown")
    retriever_version: int
    length: int = Field(description="of the answer, in words, or characters of Chinese")
    f1: float | None = Field(default=None, description="BERTScore against the reference")
    marks: dict[str, float] = Field(default={}, description="what this experiment counts beside the score")
    error: str | None = None

    @property
    def points(self) -> float:
        """The score; an unverified or missing answer is worth nothing."""
        return self.score or 0.0


Marks = Callable[[DataItem, str, Sequence[UUID]], dict[str, float]]
"""Counts things beside the score of an answer: from the item, the answer and the memories shown."""


def no_marks(item: DataItem, answer: str, shown: Sequence[UUID]) -> dict[str, float]:  # noqa: ARG001
    return {}


class Lab:
    """An experiment's view of the world. Each action is known by its step, so that it can be done again."""

    def __init__(
        self,
        queues: Queues,
        split: Split,
        scores: Mapping[str, float],
        agents: Mapping[str, Agent],
        models: Sequence[str],
        *,
        learning: bool = True,
        documents: Sequence[Path] = (),
    ) -> None:
        self.learning = learning
        self.documents = documents
        self.split = split
        self.models = tuple(models)
        self.measured: list[Measured] = []
        self.notes: list[str] = []
        self.queues = queues
        self._scores = scores
        self._texts: dict[UUID, tuple[str, str]] = {}
        self._agents = agents

    def setup(self, label: Label, model: str) -> Setup:
        return Setup(label, model, self.models.index(model))

    @property
    def seeds(self) -> list[AnsweredItem]:
        """The standard pairs of the seeds part, with their scores."""
        return [
            AnsweredItem(item, item.answer, self._scores[item.id], PEOPLE)
            for item in self.split.seeds
            if item.id in self._scores
        ]

    def pool_of(self, setup: Setup, item: DataItem) -> str:
        return setup.pool(self._agents[item.agent])

    def ids(self, setup: Setup, pairs: Sequence[AnsweredItem]) -> set[UUID]:
        """The ids of these pairs as memories of a setup's pools."""
        return {pair.id(self.pool_of(setup, pair.item)) for pair in pairs}

    def bring_in(self, step: str, setup: Setup, pairs: Sequence[AnsweredItem]) -> None:
        """Put pairs into the pools of a setup as a person does: nothing is learnt from them."""
        self._note(setup, pairs)
        self.queues.change(step, put([(self.pool_of(setup, pair.item), pair.item.agent, pair) for pair in pairs]))

    def remember(self, step: str, setup: Setup, pairs: Sequence[AnsweredItem]) -> None:
        """Let pairs become memories of a setup's pools, each with its lesson unless nothing learns."""
        if self.learning:
            self._settle(step, setup, [pair._replace(shown=()) for pair in pairs])
        else:
            self.bring_in(step, setup, pairs)

    def grow(self, step: str, setup: Setup, items: Sequence[DataItem]) -> None:
        """Have items answered with the pool as it is; then what is accepted is remembered, and all give credit.

        They are settled when all are answered, so that a run that was broken off and begun again comes to the same.
        """
        pairs = self.answer(step, setup, items)
        if self.learning:
            self._settle(f"settle {step}", setup, pairs)
        else:
            self.bring_in(f"settle {step}", setup, [pair for pair in pairs if pair.grade and pair.grade.accepted])

    def practise(self, step: str, setup: Setup, items: Sequence[DataItem]) -> None:
        """Have items answered with the pool as it is; the answers give credit, and none of them is remembered."""
        pairs = self.answer(step, setup, items)
        rejected = [
            pair._replace(grade=pair.grade.model_copy(update={"accepted": False})) for pair in pairs if pair.grade
        ]
        self._settle(f"settle {step}", setup, rejected)

    def _settle(self, step: str, setup: Setup, pairs: Sequence[AnsweredItem]) -> None:
        self._note(setup, pairs)
        name = f"{step} {setup.label.name} {setup.model}"
        settled = [
            Settled(self.pool_of(setup, one.item), one.item.agent, setup.agent(one.item.agent), one) for one in pairs
        ]
        self.queues.settle(name, settled)

    def change(self, step: str, change: Change) -> str:
        """Change the pool or the retriever, once; what is to be said of it is noted, and returned."""
        said = self.queues.change(step, change)
        if said:
            self.notes.append(said)
        return said

    def rewrite(self, step: str, answers: Mapping[UUID, str]) -> None:
        """Change what memories answer."""
        self.change(step, edit(answers))
        self._texts |= {one: (self._texts[one][0], answer) for one, answer in answers.items()}

    def write(
        self, step: str, setup: Setup, items: Sequence[DataItem], *, remember: bool = False, in_order: bool = False
    ) -> list[AnsweredItem]:
        """Have items answered with three memories; the pairs that were accepted, as ordinary tasks if to `remember`."""
        answered = self.answer(step, setup, items, remember=remember, in_order=in_order)
        pairs = [pair for pair in answered if pair.grade and pair.grade.accepted]
        if remember:
            self._note(setup, pairs)
        return pairs

    def answer(
        self, step: str, setup: Setup, items: Sequence[DataItem], *, remember: bool = False, in_order: bool = False
    ) -> list[AnsweredItem]:
        """Have items answered with three memories; all answers that were graded."""
        tasks = [ExperimentTask(item, setup.agent(item.agent), setup.model, SHOWN, remember) for item in items]
        replies = self.queues.ask(step, tasks, in_order=in_order)
        return [
            AnsweredItem(item, reply.answer, reply.grade.total, setup.model, reply.grade, reply.shown)
            for item, reply in zip(items, replies, strict=True)
            if reply.grade is not None
        ]

    def measure(
        self,
        condition: str,
        setup: Setup,
        *,
        k: int = SHOWN,
        phase: str = "",
        items: Sequence[DataItem] | None = None,
        marks: Marks = no_marks,
    ) -> None:
        """Have the test set, or these items, answered and graded; nothing of it is remembered."""
        items = self.split.test if items is None else items
        engine = not setup.label.one_call
        tasks = [ExperimentTask(item, setup.agent(item.agent), setup.model, k, engine=engine) for item in items]
        replies = self.queues.ask(f"measure {condition} {phase}", tasks)
        for item, reply in zip(items, replies, strict=True):
            self.measured.append(
                Measured(
                    condition=condition,
                    phase=phase,
                    model=setup.model,
                    agent=item.agent,
                    kind=item.kind,
                    item=item.id,
                    task_id=reply.task_id,
                    prompt=item.prompt or "",
                    reference=item.answer,
                    answer=reply.answer,
                    score=reply.grade.total if reply.grade else None,
                    graded_by=reply.grade.model if reply.grade else None,
                    verified=reply.grade is not None or reply.error is not None,
                    accepted=reply.accepted,
                    shown=tuple(one.id for one in reply.shown),
                    similarities=tuple(one.similarity for one in reply.shown),
                    memories=tuple(self._texts.get(one.id, ("", "")) for one in reply.shown),
                    retriever_version=reply.version,
                    length=length_of(reply.answer),
                    # What was not verified says nothing.
                    marks=marks(item, reply.answer if reply.grade else "", [one.id for one in reply.shown]),
                    error=reply.error,
                )
            )

    def _note(self, setup: Setup, pairs: Sequence[AnsweredItem]) -> None:
        self._texts |= {
            pair.id(self.pool_of(setup, pair.item)): (pair.item.prompt or "", pair.answer) for pair in pairs
        }


def share_of(these: Collection[UUID], name: str) -> Marks:
    """Counts which share of the memories shown is among these; nothing where none was shown."""

    def marks(_item: DataItem, _answer: str, shown: Sequence[UUID]) -> dict[str, float]:
        return {name: sum(one in these for one in shown) / len(shown)} if shown else {}

    return marks


def length_of(text: str) -> int:
    """Words; in a text without spaces between words, which is how Chinese is written, its letters."""
    words = text.split()
    return len(words) if text.isascii() or len(words) > len(text) / 12 else sum(letter.isalpha() for letter in text)
