"""Own memories, those of other models, or both?"""

from __future__ import annotations

from collections.abc import Mapping

from memshare.evaluation.data import DataItem
from memshare.evaluation.experiment import NO_MEMORIES, Experiment, Times
from memshare.evaluation.lab import Lab
from memshare.evaluation.queues import AnsweredItem
from memshare.evaluation.variants import Label

WRITTEN_OF = 2  # one of so many queries becomes a memory; the others are for practice

WRITING = Label("writing", lambda pool, _: f"{pool}-writing")
OWN_ONLY = Label("own-only", lambda pool, number: f"{pool}-own-only-{number}")
FOREIGN_ONLY = Label("foreign-only", lambda pool, number: f"{pool}-foreign-only-{number}")
MIXED = Label("mixed", lambda pool, number: f"{pool}-mixed-{number}")


def run(lab: Lab) -> None:
    """Each model writes memories; each then reads its own, those of others, and both, before and after practice."""
    to_write, to_practise = lab.split.queries[::WRITTEN_OF], lab.split.queries[1::WRITTEN_OF]
    lab.remember("seeds", lab.setup(WRITING, lab.models[0]), lab.seeds)
    written = {
        model: {pair.item.id: pair for pair in lab.write("write", lab.setup(WRITING, model), to_write)}
        for model in lab.models
    }
    same = [item for item in to_write if all(item.id in pairs for pairs in written.values())]
    lab.notes.append(f"Every pool has {len(same)} of {len(to_write)} queries: those that all answered well.")
    if len(lab.models) == 1:
        lab.notes.append("One model wrote all, so there is nothing to compare: name another with --models.")
    for model in lab.models:
        _read(lab, model, same, written, to_practise)


def _read(
    lab: Lab,
    model: str,
    same: list[DataItem],
    written: Mapping[str, Mapping[str, AnsweredItem]],
    to_practise: tuple[DataItem, ...],
) -> None:
    own = [written[model][item.id] for item in same]
    own_only = lab.setup(OWN_ONLY, model)
    lab.remember("own only", own_only, own)
    lab.measure(NO_MEMORIES, own_only, k=0)
    lab.measure("own only", own_only)
    others = [one for one in lab.models if one != model]
    if not others:
        return
    foreign = [written[others[place % len(others)]][item.id] for place, item in enumerate(same)]
    foreign_only, mixed = lab.setup(FOREIGN_ONLY, model), lab.setup(MIXED, model)
    lab.remember("foreign only", foreign_only, foreign)
    lab.measure("foreign only", foreign_only)
    lab.remember("mixed", mixed, [(own, foreign)[place % 2][place] for place in range(len(same))])
    lab.measure("mixed", mixed)
    if lab.learning:
        lab.practise("practise", mixed, to_practise)
        lab.measure("mixed, after practice", mixed)


BALANCE = Experiment(
    "balance",
    "Own and foreign memories",
    "Does a model do best with its own memories, those of other models, or both?",
    "Each model answers every other query with the seeds as memories. The questions of which every model's answer was "
    "accepted make three pools for each model: its own answers, those of the others, and both in turn (mixed). With "
    "the mixed pool it then answers the remaining queries, which are not remembered; their grades credit the memories "
    "that were shown, and the test set is answered again (mixed, after practice). Each memory is a lesson for the "
    "retriever of its pool. The test set is answered with three memories of each.",
    lambda models: [WRITING, OWN_ONLY, *([FOREIGN_ONLY, MIXED] if models > 1 else [])],
    run,
    baseline=NO_MEMORIES,
    asked=Times(test=5, queries=1),
    settled=Times(queries=1.5, seeds=0.5),
    learns=True,
    least_models=2,
)
