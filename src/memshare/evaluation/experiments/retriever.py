"""The benefit of a retriever that learns."""

from __future__ import annotations

from collections.abc import Sequence

from memshare.evaluation.experiment import NO_MEMORIES, OWN, Experiment, Times
from memshare.evaluation.lab import Lab, Measured
from memshare.operate.consolidating import consolidate, retrievers_off, retrievers_on


def run(lab: Lab) -> None:
    """Let ordinary tasks teach the retrievers, then measure them off, on and after a consolidation, on the same pools.

    The queries are answered one after the other: each one's lesson counts for the next.
    """
    setups = [lab.setup(OWN, model) for model in lab.models]
    for own in setups:
        lab.bring_in(f"seeds {own.model}", own, lab.seeds)
        lab.write("learn", own, lab.split.queries, remember=True, in_order=True)
    lab.change("adapters off", retrievers_off)
    for own in setups:
        lab.measure(NO_MEMORIES, own, k=0)
        lab.measure("untrained", own)
    lab.change("adapters on", retrievers_on)
    for own in setups:
        lab.measure("adapter", own)
    lab.notes += [said for model in lab.models if (said := equal(lab.measured, model))]
    if not lab.change("consolidate", consolidate):
        for own in setups:
            lab.measure("consolidated", own)


def equal(measured: Sequence[Measured], model: str) -> str | None:
    """A note on the tasks where adapter and encoder showed the same memories: if all, the conditions are equal."""
    found = [one for one in measured if one.model == model]
    alone = {one.item: one.shown for one in found if one.condition == "untrained"}
    adapted = [one for one in found if one.condition == "adapter"]
    if not adapted:
        return None
    if not any(one.retriever_version for one in adapted):
        return f"{model}: no version of a retriever was published, so 'adapter' is 'untrained'."
    same = sum(alone.get(one.item) == one.shown for one in adapted)
    if same < len(adapted):
        other = len(adapted) - same
        return f"{model}: the adapter showed other memories than the encoder alone in {other} of {len(adapted)} tasks."
    return (
        f"{model}: the adapter showed the memories of the encoder alone in all {same} tasks: 'adapter' is 'untrained'."
    )


RETRIEVER = Experiment(
    "retriever",
    "A retriever that learns",
    "What does it bring that the retriever learns from the pool?",
    "The queries are answered as ordinary tasks, and what is accepted becomes a memory and a lesson. Compared are the "
    "same pools with the encoder alone (untrained), with the adapters that learnt, and after the encoder was "
    "consolidated; the test set is answered with three memories each time.",
    lambda _: [OWN],
    run,
    baseline=NO_MEMORIES,
    asked=Times(test=4, queries=1),
    remembered=Times(queries=1),
    lessons=Times(queries=1),
)
