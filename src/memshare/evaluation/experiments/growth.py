"""Do answers get better as the pool grows?"""

from __future__ import annotations

from collections.abc import Sequence

from memshare.evaluation.experiment import NO_MEMORIES, OWN, Experiment
from memshare.evaluation.lab import Lab, Marks, no_marks
from memshare.evaluation.queues import Pair
from memshare.evaluation.variants import Setup

PHASES = ("0 %", "25 %", "50 %", "75 %", "100 %")  # of the queries answered
GROWING = "3 memories"


def grow(lab: Lab, setup: Setup, begin: Sequence[Pair], marks: Marks = no_marks) -> None:
    """Begin a pool with these pairs, and measure as it grows: at each phase a quarter of the queries more.

    What a phase has answered is settled at its end, and its lessons are learnt before the test set is asked.
    """
    lab.measure(NO_MEMORIES, setup, k=0)
    lab.remember(f"begin {setup.model}", setup, begin)
    lab.measure(GROWING, setup, phase=PHASES[0], marks=marks)
    quarters = len(PHASES) - 1
    for number, phase in enumerate(PHASES[1:]):
        lab.grow(f"{phase} {setup.model}", setup, lab.split.queries[number::quarters])
        lab.measure(GROWING, setup, phase=phase, marks=marks)


def run(lab: Lab) -> None:
    for model in lab.models:
        grow(lab, lab.setup(OWN, model), lab.seeds)


GROWTH = Experiment(
    "growth",
    "A growing pool",
    "Do answers get better as the pool grows?",
    "The pool begins with the seeds. In each phase a quarter of the queries is answered, and what is accepted (from "
    "the mean score of the seeds) is added at its end; then the test set is answered with three memories. Each memory "
    "is a lesson for the retriever, and each answer gives credit to the memories it was shown.",
    lambda _: [OWN],
    run,
    baseline=NO_MEMORIES,
    by_phase=True,
    learns=True,
)
