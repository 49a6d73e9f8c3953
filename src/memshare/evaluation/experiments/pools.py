"""One pool for each domain, or one for all?"""

from __future__ import annotations

from memshare.evaluation.experiment import NO_MEMORIES, OWN, Experiment
from memshare.evaluation.lab import Lab
from memshare.evaluation.variants import Label

INTEGRATED = Label("integrated", lambda _, number: f"all-domains-{number}")


def run(lab: Lab) -> None:
    """Put the same memories into a pool for each domain and into one for all, and ask with either."""
    for model in lab.models:
        own, integrated = lab.setup(OWN, model), lab.setup(INTEGRATED, model)
        lab.remember(f"seeds {model}", own, lab.seeds)
        grown = lab.write(f"grow {model}", own, lab.split.queries)
        lab.remember(f"grown {model}", own, grown)
        lab.remember(f"integrated {model}", integrated, [*lab.seeds, *grown])
        lab.measure(NO_MEMORIES, own, k=0)
        lab.measure("a pool for each domain", own)
        lab.measure("one integrated pool", integrated)


POOLS = Experiment(
    "pools",
    "A pool for each domain, or one for all",
    "Is it better to share memories within a domain or among all agents?",
    "The same memories (seeds, and accepted answers to the queries) are put into a pool for each domain and into one "
    "integrated pool, where each is a lesson for the pool's retriever. The test set is answered with three "
    "memories of either.",
    lambda _: [OWN, INTEGRATED],
    run,
    baseline=NO_MEMORIES,
    learns=True,
)
