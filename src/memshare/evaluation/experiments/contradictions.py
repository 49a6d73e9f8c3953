"""Does what is false sink when nobody says which of two statements it is?"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from memshare.client.client import Client
from memshare.evaluation.data import DataItem
from memshare.evaluation.experiment import NO_MEMORIES, Bundled, Experiment, Times
from memshare.evaluation.experiments.bias import spoiled
from memshare.evaluation.experiments.knowledge import NEEDED, right, says, wrong
from memshare.evaluation.lab import Lab, Marks, share_of
from memshare.evaluation.queues import Change
from memshare.evaluation.variants import NOTHING_PASSES, Label

STRICT = Label("strict", lambda pool, number: f"{pool}-{number}", NOTHING_PASSES)
ROUNDS = 5
ASKED_AFTER = (1, 3, 5)  # rounds; the paper has 3 and 5


def run_credibility(lab: Lab) -> None:
    """Put each seed into the pool twice, right and spoiled, and let graded answers to the queries tell them apart.

    No answer below full marks is remembered (the threshold is 100): what changes what is shown is credit. The queries
    are answered one after the other: each one's credit counts for the next.
    """
    good = [pair._replace(score=None) for pair in lab.seeds]
    bad = spoiled([pair.item for pair in good])
    for model in lab.models:
        strict = lab.setup(STRICT, model)
        marks = share_of(lab.ids(strict, bad), "bad memories shown")
        lab.measure(NO_MEMORIES, strict, k=0)
        lab.bring_in(f"begin {model}", strict, [*bad, *good])
        lab.measure("3 memories", strict, phase="before", marks=marks)
        for number in range(1, ROUNDS + 1):
            phase = f"round {number}"
            full = lab.write(phase, strict, lab.split.queries, remember=True, in_order=True)
            if full:
                lab.notes.append(f"{phase}: {len(full)} answers got full marks and were remembered.")
            if number in ASKED_AFTER:
                lab.measure("3 memories", strict, phase=phase, marks=marks)


CREDIBILITY = Experiment(
    "credibility",
    "Credit for what helped",
    "Do memories that mislead sink as the answers they were shown for are graded?",
    "Every seed is in the pool twice: as it is, and spoiled. In each round all queries are answered and graded, which "
    "credits the memories shown; no answer below full marks is remembered. After the first, third and fifth "
    "round the test set is answered.",
    lambda _: [STRICT],
    run_credibility,
    baseline=NO_MEMORIES,
    asked=Times(test=5, queries=5),
    remembered=Times(queries=5),
    by_phase=True,
)


def run(lab: Lab) -> None:
    """Tell of each thing what is so and what is not, and let the answers that the agent verifies tell them apart.

    The system finds by itself that they contradict each other. What is true stands in the documents, too, which the
    agent may read; the answers of a round are given one after the other, so that each one's credit counts for the next.
    """
    items = lab.split.test
    told = says(says_what_is_so=lambda item: item.answer, says_what_is_not=lambda item: item.changed or "")
    for model in lab.models:
        strict = lab.setup(STRICT, model)
        true, false = right(items), wrong(items)
        shown = share_of(lab.ids(strict, false), "false memories shown")

        def marks(item: DataItem, answer: str, memories: Sequence[UUID], shown: Marks = shown) -> dict[str, float]:
            return told(item, answer, memories) | shown(item, answer, memories)

        lab.measure(NO_MEMORIES, strict, k=0, marks=told)
        lab.bring_in(f"begin {model}", strict, [*false, *true])
        pools = dict.fromkeys(lab.pool_of(strict, pair.item) for pair in true)
        ids = [
            (one.id(lab.pool_of(strict, one.item)), other.id(lab.pool_of(strict, other.item)))
            for one, other in zip(true, false, strict=True)
        ]
        lab.change(f"conflicts {model}", _found(model, list(pools), list(map(frozenset, ids))))
        lab.measure("3 memories", strict, phase="before", marks=marks)
        for number in range(1, ROUNDS + 1):
            lab.write(f"round {number} {model}", strict, items, remember=True, in_order=True)
            if number in ASKED_AFTER:
                lab.change(f"credibility {number} {model}", _told_apart(model, number, ids))
                lab.measure("3 memories", strict, phase=f"round {number}", marks=marks)


def _found(model: str, pools: Sequence[str], pairs: Sequence[frozenset[UUID]]) -> Change:
    def count(client: Client) -> str:
        linked = {frozenset(one.memories) for pool in pools for one in client.memories.conflicts(pool)}
        found = sum(pair in linked for pair in pairs)
        others = len(linked) - found
        return (
            f"{model}: the system found {found} of the {len(pairs)} contradictions, and {others} between other "
            "statements; nobody linked them."
        )

    return count


def _told_apart(model: str, number: int, pairs: Sequence[tuple[UUID, UUID]]) -> Change:
    """Count the pairs whose first statement is by now the more credible one: the figure of DynaMind's table 3."""

    def count(client: Client) -> str:
        judged = client.memories.judge([memory for pair in pairs for memory in pair])
        found = {one.memory.id: one.credibility.p for one in judged}
        right = sum(found[true] > found[false] for true, false in pairs)
        alike = sum(found[true] == found[false] for true, false in pairs)
        return (
            f"{model}: after round {number} the true statement was the more credible one of {right} of {len(pairs)} "
            f"pairs ({right / len(pairs):.2f}), and both were alike of {alike}."
        )

    return count


CONTRADICTIONS = Experiment(
    "contradictions",
    "True and false, side by side",
    "Does what is false sink, when an agent checks its answers and nobody says which statement is wrong?",
    "Of each thing two statements are told, one true and one false. In each round every question is answered by the "
    "agent, which checks its answer, and its verdict credits the memories that the answer rests on. What is true "
    "stands in documents that it may read. No answer below full marks is remembered. After the first, third "
    "and fifth round all are asked. Counted are the answers that "
    "say what is so, those that say what is not, and the share of false memories among those that an answer rests on.",
    lambda _: [STRICT],
    run,
    baseline=NO_MEMORIES,
    asked=Times(test=10),
    remembered=Times(test=5),
    by_phase=True,
    bundled=Bundled("facts.jsonl", documents=True, needs=NEEDED),
)
