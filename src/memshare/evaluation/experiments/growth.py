"""Do answers get better as the pool grows?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from memshare.evaluation.experiment import NO_MEMORIES, OWN, Experiment, Times
from memshare.evaluation.lab import Lab, Marks, no_marks
from memshare.evaluation.queues import AnsweredItem
from memshare.evaluation.variants import Setup

MOST = 3


def run_memories(lab: Lab) -> None:
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
    run_memories,
    baseline=NO_MEMORIES,
    asked=Times(test=4, queries=1),
    settled=Times(queries=1, seeds=1),
    lessons=Times(queries=1, seeds=1),
    learns=True,
)


PHASES = ("0 %", "25 %", "50 %", "75 %", "100 %")  # of the queries answered
PHASES_FROM_20 = ("20 %", "40 %", "60 %", "80 %", "100 %")
GROWING = "3 memories"


def grow(
    lab: Lab, setup: Setup, begin: Sequence[AnsweredItem], marks: Marks = no_marks, phases: Sequence[str] = PHASES
) -> None:
    """Begin a pool with these pairs, and measure as it grows: at each phase an equal part of the queries more.

    What a phase has answered is settled at its end, and its lessons are learnt before the test set is asked.
    """
    lab.measure(NO_MEMORIES, setup, k=0)
    lab.remember(f"begin {setup.model}", setup, begin)
    growing = [phase for phase in phases if phase != PHASES[0]]
    if len(growing) < len(phases):
        lab.measure(GROWING, setup, phase=PHASES[0], marks=marks)
    for number, phase in enumerate(growing):
        lab.grow(f"{phase} {setup.model}", setup, lab.split.queries[number :: len(growing)])
        lab.measure(GROWING, setup, phase=phase, marks=marks)


def run(lab: Lab, phases: Sequence[str] = PHASES) -> None:
    for model in lab.models:
        grow(lab, lab.setup(OWN, model), lab.seeds, phases=phases)


_METHOD = (
    "The pool begins with the seeds. In each phase {} of the queries is answered, and what is accepted (from "
    "the mean score of the seeds) is added at its end; then the test set is answered with three memories. Each memory "
    "is a lesson for the retriever, and each answer gives credit to the memories it was shown."
)
GROWTH = Experiment(
    "growth",
    "A growing pool",
    "Do answers get better as the pool grows?",
    _METHOD.format("a quarter"),
    lambda _: [OWN],
    run,
    baseline=NO_MEMORIES,
    asked=Times(test=6, queries=1),
    settled=Times(queries=1, seeds=1),
    lessons=Times(queries=1, seeds=1),
    by_phase=True,
    learns=True,
)

GROWTH_FROM_20 = Experiment(
    "growth-ms",
    "A growing pool, from 20 %",
    "Do answers get better as the pool grows, in the phases of the first versions of the paper?",
    _METHOD.format("a fifth"),
    lambda _: [OWN],
    partial(run, phases=PHASES_FROM_20),
    baseline=NO_MEMORIES,
    asked=Times(test=6, queries=1),
    settled=Times(queries=1, seeds=1),
    lessons=Times(queries=1, seeds=1),
    by_phase=True,
    learns=True,
)
