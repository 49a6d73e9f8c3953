"""Do the memories that one model wrote help another?"""

from __future__ import annotations

from memshare.evaluation.experiment import NO_MEMORIES, Experiment, Times
from memshare.evaluation.lab import PEOPLE, Lab
from memshare.evaluation.queues import AnsweredItem
from memshare.evaluation.variants import Label

SEEDED = Label("seeded", lambda pool, _: f"{pool}-seeded")
BY_PEOPLE = Label("by-people", lambda pool, _: f"{pool}-by-people")
TOGETHER = Label("together", lambda pool, _: f"{pool}-together")
BY_ALL = "by all models together"


def _by(writer: int) -> Label:
    return Label(f"by-{writer}", lambda pool, _: f"{pool}-by-{writer}")


def labels(models: int) -> list[Label]:
    return [SEEDED, BY_PEOPLE, *(_by(number) for number in range(models)), *([TOGETHER] if models > 1 else [])]


def run(lab: Lab) -> None:
    """Each model answers the queries with the seeds; then each reads the memories of each writer, and of all.

    Every pool has the same questions, those of which every model's answer was accepted.
    """
    written = {}
    for model in lab.models:
        seeded = lab.setup(SEEDED, model)
        if model == lab.models[0]:  # the pool is the same for all
            lab.remember("seeds", seeded, lab.seeds)
        written[model] = {pair.item.id: pair for pair in lab.write("write", seeded, lab.split.queries)}
    same = [item for item in lab.split.queries if all(item.id in pairs for pairs in written.values())]
    lab.notes.append(
        f"Every pool has {len(same)} of the {len(lab.split.queries)} queries: those that all answered well."
    )
    people = [AnsweredItem(item, item.answer, None, PEOPLE) for item in same]
    lab.remember(f"by {PEOPLE}", lab.setup(BY_PEOPLE, lab.models[0]), people)
    for number, writer in enumerate(lab.models):
        lab.remember(f"by {writer}", lab.setup(_by(number), writer), [written[writer][item.id] for item in same])
    several = len(lab.models) > 1
    if several:
        in_turn = [written[lab.models[place % len(lab.models)]][item.id] for place, item in enumerate(same)]
        lab.remember(BY_ALL, lab.setup(TOGETHER, lab.models[0]), in_turn)
    for reader in lab.models:
        lab.measure(NO_MEMORIES, lab.setup(BY_PEOPLE, reader), k=0)
        lab.measure(f"by {PEOPLE}", lab.setup(BY_PEOPLE, reader))
        for number, writer in enumerate(lab.models):
            lab.measure(f"by {writer}", lab.setup(_by(number), reader))
        if several:
            lab.measure(BY_ALL, lab.setup(TOGETHER, reader))


HETEROLOGOUS = Experiment(
    "heterologous",
    "Memories written by others",
    "Do memories that another model, a person, or several models together wrote help as much as one's own?",
    "Each model answers the queries with the seeds as memories. The questions of which every model's answer was "
    "accepted make one pool for each writer: people (the standard answers), each model, and all models together, each "
    "with its turn. Each memory is a lesson for the retriever of its pool. Each model answers the test set with three "
    "memories of each pool.",
    labels,
    run,
    baseline=NO_MEMORIES,
    asked=Times(test=5, queries=1),
    settled=Times(queries=2, seeds=0.5),
    learns=True,
)
