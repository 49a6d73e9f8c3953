"""Is what is added, changed and deleted in answers from the next task on, and only as long as it stands?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from memory_service.memory import folded
from memshare.client import Client
from memshare.evaluation.data import Item
from memshare.evaluation.experiment import NO_MEMORIES, OWN, Experiment
from memshare.evaluation.lab import PEOPLE, Lab, Marks
from memshare.evaluation.queues import Change, Pair

SHORT = 12  # words; who asks for a sonnet does not expect to be told one

Says = Callable[[Item], str]


def _says(now: Says | None, before: Says | None) -> Marks:
    def marks(item: Item, answer: str, _shown: Sequence[UUID]) -> dict[str, float]:
        said = folded(answer)
        found = {}
        if now:
            found["says what stands"] = float(folded(now(item)) in said)
        if before:
            found["says what was taken back"] = float(folded(before(item)) in said)
        return found

    return marks


def run(lab: Lab) -> None:
    """Tell the agents the answer of each short test question, ask; change it to another's, ask; delete it, ask."""
    items = [item for item in lab.split.test if len(item.answer.split()) <= SHORT and item.answer.isascii()]
    items = items or list(lab.split.test)
    other = {item.id: _another(item, items).answer for item in items}

    def first(item: Item) -> str:
        return item.answer

    def second(item: Item) -> str:
        return other[item.id]

    for model in lab.models:
        own = lab.setup(OWN, model)
        pairs = [Pair(item, item.answer, None, PEOPLE) for item in items]
        memories = [pair.id(lab.pool_of(own, pair.item)) for pair in pairs]
        lab.measure(NO_MEMORIES, own, k=0, items=items, marks=_says(first, None))
        lab.remember(f"add {model}", own, pairs)
        lab.measure("added", own, items=items, marks=_says(first, None))
        lab.change(f"change {model}", _change(memories, [other[item.id] for item in items]))
        lab.measure("changed", own, items=items, marks=_says(second, first))
        lab.change(f"delete {model}", _delete(memories))
        lab.measure("deleted", own, items=items, marks=_says(None, second))


def _another(item: Item, items: Sequence[Item]) -> Item:
    """The next item of the same kind, around the corner."""
    alike = [one for one in items if one.label == item.label]
    return alike[(alike.index(item) + 1) % len(alike)]


def _change(memories: Sequence[UUID], answers: Sequence[str]) -> Change:
    def change(client: Client) -> None:
        for memory, answer in zip(memories, answers, strict=True):
            client.ask_memory("edit", change={"id": str(memory), "answer": answer})

    return change


def _delete(memories: Sequence[UUID]) -> Change:
    def change(client: Client) -> None:
        client.ask_memory("forget", which={"ids": [str(memory) for memory in memories]})

    return change


KNOWLEDGE = Experiment(
    "knowledge",
    "What is known, changed and forgotten",
    "Does an answer say what was added, follow when it is changed, and stop when it is deleted?",
    "Of the test questions with short answers (12 words at most), each answer is added as a memory, then changed to "
    "another question's, then deleted; they are answered each time with three memories. Counted is whether an answer "
    "has the text.",
    lambda _: [OWN],
    run,
    baseline=NO_MEMORIES,
)
