"""Do the memories that one model wrote help another?"""

from __future__ import annotations

from memshare.evaluation.experiment import NO_MEMORIES, Experiment
from memshare.evaluation.lab import PEOPLE, Lab
from memshare.evaluation.variants import Label

BY_PEOPLE = Label("by-people", lambda pool, _: f"{pool}-by-people")


def _by(writer: int) -> Label:
    return Label(f"by-{writer}", lambda pool, _: f"{pool}-by-{writer}")


def run(lab: Lab) -> None:
    """Each model answers the queries with people's seeds; then each reads the memories of each writer.

    Every writer has the same number of memories, that of the one who had the fewest accepted.
    """
    for model in lab.models:
        lab.remember("people", lab.setup(BY_PEOPLE, model), lab.seeds)
    written = {PEOPLE: lab.seeds}
    for model in lab.models:
        written[model] = lab.write("write", lab.setup(BY_PEOPLE, model), lab.split.queries)
    fewest = min(len(written[model]) for model in lab.models)
    for number, writer in enumerate(lab.models):
        lab.remember(f"by {writer}", lab.setup(_by(number), writer), written[writer][:fewest])
    for reader in lab.models:
        people = lab.setup(BY_PEOPLE, reader)
        lab.measure(NO_MEMORIES, people, k=0)
        lab.measure(f"by {PEOPLE}", people)
        for number, writer in enumerate(lab.models):
            lab.measure(f"by {writer}", lab.setup(_by(number), reader))


HETEROLOGOUS = Experiment(
    "heterologous",
    "Memories written by others",
    "Do memories that another model, or a person, wrote help as much as one's own?",
    "One pool for each writer: people (the seeds) and each model (its accepted answers to the queries, the same number "
    "of each model). Each model answers the test set with three memories of each pool.",
    lambda models: [BY_PEOPLE, *(_by(number) for number in range(models))],
    run,
    baseline=NO_MEMORIES,
)
