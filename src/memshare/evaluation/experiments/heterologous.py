"""Do the memories that one model wrote help another?"""

from __future__ import annotations

from memshare.evaluation.experiment import NO_MEMORIES, Experiment
from memshare.evaluation.lab import PEOPLE, Lab
from memshare.evaluation.queues import Pair
from memshare.evaluation.variants import Label

SEEDED = Label("seeded", lambda pool, _: f"{pool}-seeded")
BY_PEOPLE = Label("by-people", lambda pool, _: f"{pool}-by-people")


def _by(writer: int) -> Label:
    return Label(f"by-{writer}", lambda pool, _: f"{pool}-by-{writer}")


def run(lab: Lab) -> None:
    """Each model answers the queries with the seeds; then each reads the memories of each writer.

    Every writer's pool has the same questions, those of which every model's answer was accepted.
    """
    written = {}
    for model in lab.models:
        seeded = lab.setup(SEEDED, model)
        lab.remember("seeds", seeded, lab.seeds)
        written[model] = lab.write("write", seeded, lab.split.queries)
    common = set.intersection(*({pair.item.id for pair in pairs} for pairs in written.values()))
    same = [item for item in lab.split.queries if item.id in common]
    lab.notes.append(
        f"Every pool has {len(same)} of the {len(lab.split.queries)} queries: those that all answered well."
    )
    people = [Pair(item, item.answer, None, PEOPLE) for item in same]
    lab.remember(f"by {PEOPLE}", lab.setup(BY_PEOPLE, lab.models[0]), people)
    for number, writer in enumerate(lab.models):
        theirs = [pair for pair in written[writer] if pair.item.id in common]
        lab.remember(f"by {writer}", lab.setup(_by(number), writer), theirs)
    for reader in lab.models:
        lab.measure(NO_MEMORIES, lab.setup(BY_PEOPLE, reader), k=0)
        lab.measure(f"by {PEOPLE}", lab.setup(BY_PEOPLE, reader))
        for number, writer in enumerate(lab.models):
            lab.measure(f"by {writer}", lab.setup(_by(number), reader))


HETEROLOGOUS = Experiment(
    "heterologous",
    "Memories written by others",
    "Do memories that another model, or a person, wrote help as much as one's own?",
    "Each model answers the queries with the seeds as memories. The questions of which every model's answer was "
    "accepted make one pool for each writer: people (the standard answers) and each model. Each model answers the test "
    "set with three memories of each pool.",
    lambda models: [SEEDED, BY_PEOPLE, *(_by(number) for number in range(models))],
    run,
    baseline=NO_MEMORIES,
)
