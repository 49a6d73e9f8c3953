"""Pools that are shared: among domains, and among models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from memshare.evaluation.data import DataItem
from memshare.evaluation.experiment import NO_MEMORIES, OWN, Experiment, Times
from memshare.evaluation.lab import PEOPLE, Lab
from memshare.evaluation.queues import AnsweredItem
from memshare.evaluation.variants import Label, Setup

RUBRIC = "integrated"
ACCEPTED_FROM = 81.0  # by that rubric: the paper's
INTEGRATED = Label("integrated", lambda _, number: f"all-domains-{number}")
ONE_RUBRIC = Label("one-rubric", lambda _, number: f"one-rubric-{number}", ACCEPTED_FROM, rubric=RUBRIC)


def run_pools(lab: Lab) -> None:
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
    run_pools,
    labels=lambda _: [OWN, INTEGRATED, ONE_RUBRIC],
    asked=Times(test=4, queries=1),
    settled=Times(queries=3, seeds=3),
    lessons=Times(queries=1, seeds=1),
    learns=True,
)


WRITTEN_OF = 2  # one of so many queries becomes a memory; the others are for practice

WRITING = Label("writing", lambda pool, _: f"{pool}-writing")
OWN_ONLY = Label("own-only", lambda pool, number: f"{pool}-own-only-{number}")
FOREIGN_ONLY = Label("foreign-only", lambda pool, number: f"{pool}-foreign-only-{number}")
MIXED = Label("mixed", lambda pool, number: f"{pool}-mixed-{number}")


def run_balance(lab: Lab) -> None:
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
    run_balance,
    labels=lambda models: [WRITING, OWN_ONLY, *([FOREIGN_ONLY, MIXED] if models > 1 else [])],
    asked=Times(test=5, queries=1),
    settled=Times(queries=2, seeds=0.5),
    lessons=Times(queries=1 / WRITTEN_OF),
    learns=True,
    least_models=2,
)


SEEDED = Label("seeded", lambda pool, _: f"{pool}-seeded")
BY_PEOPLE = Label("by-people", lambda pool, _: f"{pool}-by-people")
TOGETHER = Label("together", lambda pool, _: f"{pool}-together")
BY_ALL = "by all models together"


def _by(writer: int) -> Label:
    return Label(f"by-{writer}", lambda pool, _: f"{pool}-by-{writer}")


def labels(models: int) -> list[Label]:
    return [SEEDED, BY_PEOPLE, *(_by(number) for number in range(models)), *([TOGETHER] if models > 1 else [])]


def run_heterologous(lab: Lab) -> None:
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
    run_heterologous,
    labels=labels,
    asked=Times(test=5, queries=1),
    settled=Times(queries=2, seeds=0.5),
    lessons=Times(queries=1),
    learns=True,
)
