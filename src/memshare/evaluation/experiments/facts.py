"""Does the engine follow what is told, changed and deleted, when it is asked for in other words?"""

from __future__ import annotations

from collections.abc import Sequence

from memshare.evaluation.data import DataItem
from memshare.evaluation.experiment import NO_MEMORIES, OWN, Bundled, Experiment, Times
from memshare.evaluation.experiments.knowledge import delete, says
from memshare.evaluation.lab import PEOPLE, Lab
from memshare.evaluation.queues import AnsweredItem

NEEDED = ("statement", "changed", "changed_statement")


def right(items: Sequence[DataItem]) -> list[AnsweredItem]:
    """What each item states, as statements without a prompt."""
    return [_stated(item, item.statement or "") for item in items]


def wrong(items: Sequence[DataItem]) -> list[AnsweredItem]:
    """What each item states once it is changed."""
    return [_stated(item, item.changed_statement or "") for item in items]


def run(lab: Lab) -> None:
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
    run,
    baseline=NO_MEMORIES,
    asked=Times(test=4),
    bundled=Bundled("facts.jsonl", needs=NEEDED),
)
