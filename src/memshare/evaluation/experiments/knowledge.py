"""Is what is added, changed and deleted in answers from the next task on, and only as long as it stands?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from memshare.client.client import Client
from memshare.evaluation.data import DataItem, Split, stands_in
from memshare.evaluation.experiment import NO_MEMORIES, OWN, Bundled, Experiment, Times
from memshare.evaluation.lab import PEOPLE, Lab, Marks
from memshare.evaluation.queues import AnsweredItem, Change
from memshare_memory.curate.requests import Forget
from memshare_memory.memory import folded

NEEDED = ("statement", "changed", "changed_statement")


def right(items: Sequence[DataItem]) -> list[AnsweredItem]:
    """The facts of the items, as statements without a prompt."""
    return [_stated(item, item.statement or "") for item in items]


def wrong(items: Sequence[DataItem]) -> list[AnsweredItem]:
    """The facts of the items once they are changed."""
    return [_stated(item, item.changed_statement or "") for item in items]


def run_facts(lab: Lab) -> None:
    """Tell the agents what is so, ask in other words; tell them that it is otherwise, ask; delete it, ask."""
    items = lab.split.test
    marks = says(says_the_first=lambda item: item.answer, says_the_second=lambda item: item.changed or "")
    for model in lab.models:
        own = lab.setup(OWN, model)
        first = right(items)
        memories = [pair.id(lab.pool_of(own, pair.item)) for pair in first]
        lab.measure(NO_MEMORIES, own, k=0, marks=marks)
        lab.bring_in(f"tell {model}", own, first)
        lab.measure("created", own, marks=marks)
        changed = {memory: pair.answer for memory, pair in zip(memories, wrong(items), strict=True)}
        lab.rewrite(f"change {model}", changed)
        lab.measure("updated", own, marks=marks)
        lab.change(f"delete {model}", delete(memories))
        lab.measure("deleted", own, marks=marks)


def _stated(item: DataItem, text: str) -> AnsweredItem:
    return AnsweredItem(item.model_copy(update={"prompt": None, "kind": None}), text, None, PEOPLE)


FACTS = Experiment(
    "facts",
    "Facts, asked for in other words",
    "Does the reasoning agent follow what it is told, when it is asked in other words than it was told in?",
    "Statements are told, then changed to say something else, then deleted. Each time a question in other words is "
    "answered by the agent, with its engine where it has one. Counted is whether an answer has the first text, and the "
    "second, as whole words.",
    lambda _: [OWN],
    run_facts,
    baseline=NO_MEMORIES,
    asked=Times(test=4),
    bundled=Bundled("facts.jsonl", needs=NEEDED),
)


SHORT = 12  # words; who asks for a sonnet does not expect to be told one

Says = Callable[[DataItem], str]


def says(**wanted: Says) -> Marks:
    """Marks for whether an answer has each text, as whole words, whatever its case and white space."""

    def marks(item: DataItem, answer: str, _shown: Sequence[UUID]) -> dict[str, float]:
        return {name.replace("_", " "): float(stands_in(says(item), answer)) for name, says in wanted.items()}

    return marks


def run(lab: Lab) -> None:
    """Tell the agents the answer of each short test question, ask; change it to another, ask; delete it, ask."""
    items, other = short_questions(lab.split)
    marks = says(says_the_first=lambda item: item.answer, says_the_second=lambda item: other[item.id])
    for model in lab.models:
        own = lab.setup(OWN, model)
        pairs = [AnsweredItem(item, item.answer, None, PEOPLE) for item in items]
        memories = [pair.id(lab.pool_of(own, pair.item)) for pair in pairs]
        lab.measure(NO_MEMORIES, own, k=0, items=items, marks=marks)
        lab.bring_in(f"add {model}", own, pairs)
        lab.measure("added", own, items=items, marks=marks)
        changed = {memory: other[item.id] for memory, item in zip(memories, items, strict=True)}
        lab.rewrite(f"change {model}", changed)
        lab.measure("changed", own, items=items, marks=marks)
        lab.change(f"delete {model}", delete(memories))
        lab.measure("deleted", own, items=items, marks=marks)


def short_questions(split: Split) -> tuple[list[DataItem], dict[str, str]]:
    """The test questions with short answers, and for each another answer: a query's of its kind, and nobody's here.

    All test questions where none has a short answer.
    """
    items = [item for item in split.test if _is_short(item)] or list(split.test)
    own = {folded(item.answer) for item in items}
    spare: dict[str, list[str]] = {}
    for item in split.queries:
        if folded(item.answer) not in own:
            spare.setdefault(item.label, []).append(item.answer)
    usable = [item for item in items if item.label in spare]
    return usable, {item.id: spare[item.label][place % len(spare[item.label])] for place, item in enumerate(usable)}


def _is_short(item: DataItem) -> bool:
    return item.answer.isascii() and len(item.answer.split()) <= SHORT


def delete(memories: Sequence[UUID]) -> Change:
    def change(client: Client) -> None:
        client.memories.forget(Forget(ids=tuple(memories)))

    return change


KNOWLEDGE = Experiment(
    "knowledge",
    "What is known, changed and forgotten",
    "Does an answer say what was added, follow when it is changed, and stop when it is deleted?",
    "Of the test questions with short answers (12 words of English at most), each answer is added as a memory, then "
    "changed to a query's answer, then deleted; they are answered each time with three memories. Counted is whether an "
    "answer has the first text, and the second, as whole words.",
    lambda _: [OWN],
    run,
    baseline=NO_MEMORIES,
    asked=Times(test=4),
    bundled=Bundled("facts.jsonl", split=True),
)
