"""Do memories that mislead sink as answers are graded?"""

from __future__ import annotations

from memshare.evaluation.experiment import NO_MEMORIES, Experiment, Times
from memshare.evaluation.experiments.bias import spoiled
from memshare.evaluation.lab import Lab, share_of
from memshare.evaluation.variants import NOTHING_PASSES, Label

STRICT = Label("strict", lambda pool, number: f"{pool}-{number}", NOTHING_PASSES)
ROUNDS = 5
ASKED_AFTER = (1, 3, 5)  # rounds; the paper has 3 and 5


def run(lab: Lab) -> None:
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
    run,
    baseline=NO_MEMORIES,
    asked=Times(test=5, queries=5),
    remembered=Times(queries=5),
    by_phase=True,
)
