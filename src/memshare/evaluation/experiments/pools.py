"""Separate pools for each domain, compared with one pool for all."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from memshare.evaluation.experiment import NO_MEMORIES, OWN, Experiment, Times
from memshare.evaluation.lab import PEOPLE, Lab
from memshare.evaluation.queues import AnsweredItem
from memshare.evaluation.variants import Label, Setup

RUBRIC = "integrated"
ACCEPTED_FROM = 81.0  # by that rubric: the paper's
INTEGRATED = Label("integrated", lambda _, number: f"all-domains-{number}")
ONE_RUBRIC = Label("one-rubric", lambda _, number: f"one-rubric-{number}", ACCEPTED_FROM, rubric=RUBRIC)


def run(lab: Lab) -> None:
    """Put the same memories into a pool for each domain and into one for all, and ask with either.

    A third pool has what one rubric for all domains accepts, by which the answers with it are graded, too.
    """
    for model in lab.models:
        own, integrated, one_rubric = (lab.setup(label, model) for label in (OWN, INTEGRATED, ONE_RUBRIC))
        lab.remember(f"seeds {model}", own, lab.seeds)
        answered = lab.answer(f"grow {model}", own, lab.split.queries)
        grown = [pair for pair in answered if pair.grade and pair.grade.accepted]
        lab.remember(f"grown {model}", own, grown)
        lab.remember(f"integrated {model}", integrated, [*lab.seeds, *grown])
        lab.measure(NO_MEMORIES, own, k=0)
        lab.measure("a pool for each domain", own)
        lab.measure("one integrated pool", integrated)
        lab.remember(f"one rubric {model}", one_rubric, _graded_anew(lab, one_rubric, [*lab.seeds, *answered]))
        lab.measure("one integrated pool, one rubric", one_rubric)
    lab.notes.append(
        "The last row's scores are by another rubric, so they are no gain or loss against the others: compare it by "
        "BERTScore F1, or by a second judge, who grades all answers by the domains' rubrics."
    )


def _graded_anew(lab: Lab, setup: Setup, pairs: Sequence[AnsweredItem]) -> list[AnsweredItem]:
    """The pairs that the rubric of a setup gives at least the mean of the seeds, with its scores."""
    scores = [one.score for one in lab.queues.grade(pairs, setup)]
    of_seeds = [score for score, pair in zip(scores, pairs, strict=True) if pair.by == PEOPLE and score is not None]
    least = fmean(of_seeds) if of_seeds else ACCEPTED_FROM
    found = [
        pair._replace(score=score, grade=None)
        for pair, score in zip(pairs, scores, strict=True)
        if score is not None and score >= least
    ]
    lab.notes.append(f"{setup.model}: one rubric gave {len(found)} of {len(pairs)} pairs {least:.1f} or more.")
    return found


POOLS = Experiment(
    "pools",
    "A pool for each domain, or one for all",
    "Is it better to share memories within a domain or among all agents?",
    "The same memories (seeds, and accepted answers to the queries) are put into a pool for each domain and into one "
    "integrated pool, where each is a lesson for the pool's retriever. Another integrated pool has those pairs that "
    "one rubric for all domains gives at least the seeds' mean score. The test set is answered with three memories of "
    "each, and with the last pool graded by the one rubric.",
    lambda _: [OWN, INTEGRATED, ONE_RUBRIC],
    run,
    baseline=NO_MEMORIES,
    asked=Times(test=4, queries=1),
    settled=Times(queries=3, seeds=3),
    lessons=Times(queries=1, seeds=1),
    learns=True,
)
