"""Do memories help, and how many of them?"""

from __future__ import annotations

from memshare.evaluation.experiment import NO_MEMORIES, OWN, Experiment, Times
from memshare.evaluation.lab import Lab

MOST = 3


def run(lab: Lab) -> None:
    """Begin with the seeds, let the queries add to the pool, then ask the test set with 0, 1, 2 and 3 memories."""
    for model in lab.models:
        own = lab.setup(OWN, model)
        lab.remember(f"seeds {model}", own, lab.seeds)
        lab.grow(f"grow {model}", own, lab.split.queries)
        for k in range(MOST + 1):
            lab.measure(NO_MEMORIES if k == 0 else f"{k} memor{'y' if k == 1 else 'ies'}", own, k=k)


MEMORIES = Experiment(
    "memories",
    "More memories in the prompt",
    "Do memories help, and how many of them?",
    "The pool begins with the seeds: standard answers with their questions. An answer to a query is added where its "
    "score is at least the mean of the seeds'. Each memory is a lesson for the retriever, and each answer gives credit "
    "to the memories it was shown. The test set is then answered with 0 to 3 memories.",
    lambda _: [OWN],
    run,
    baseline=NO_MEMORIES,
    asked=Times(test=4, queries=1),
    settled=Times(queries=1, seeds=1),
    learns=True,
)
