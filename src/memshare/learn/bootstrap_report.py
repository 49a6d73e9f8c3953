"""What `memshare learn` and `memshare seed` have brought, in figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from memshare.client.client import Client
from memshare.learn.bootstrap import Bootstrapped
from memshare.learn.standard_answers import StandardAnswer
from memshare_broker.delivery.outcome_record import OutcomeRecord
from memshare_broker.errors import BadInput
from memshare_scorer.rubric import MEAN_OF_SEEDS, find_rubric, threshold_for

NOT_VERIFIED = "not verified"  # what is known for ever of an answer that its agent rejected


@dataclass(frozen=True)
class Group:
    """Some graded pairs together; the mean of their scores is None without any."""

    pairs: int
    mean_score: float | None


@dataclass(frozen=True)
class Threshold:
    """What a pair of a pool needs now to be remembered, by its rubric; None where that is not at hand here."""

    pool: str
    rubric: str
    threshold: float | None
    mean_of_seeds: bool


@dataclass(frozen=True)
class Figures:
    """`before` counts the questions and answers that had ended before this run, and were not paid for again.

    An answer that its agent could not verify is neither graded nor accepted: `answers_unverified` counts those.
    """

    lines: int
    questions: int
    accepted: Group
    rejected: Group
    answers: Group
    answers_accepted: int
    answers_unverified: int
    before: int
    thresholds: tuple[Threshold, ...]
    dead: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def figures(client: Client, lines: Sequence[StandardAnswer], learnt: Bootstrapped) -> Figures:
    """Count and average; a score that was given before a pair became a dead letter counts."""
    graded = [one for one in learnt.answers if one.total is not None]
    return Figures(
        lines=len(lines),
        questions=sum(one.question is not None for one in learnt.seeds),
        accepted=_group(one for one in learnt.seeds if one.accepted),
        rejected=_group(one for one in learnt.seeds if one.accepted is False),
        answers=_group(graded),
        answers_accepted=sum(bool(one.accepted) for one in graded),
        answers_unverified=sum(one.outcome == NOT_VERIFIED for one in learnt.answers),
        before=learnt.before,
        thresholds=_thresholds(client, lines),
        dead=tuple(one.error or "" for one in (*learnt.seeds, *learnt.answers) if one.dead),
    )


def _group(pairs: Iterable[OutcomeRecord]) -> Group:
    scores = [one.total for one in pairs if one.total is not None]
    return Group(len(scores), fmean(scores) if scores else None)


def _thresholds(client: Client, lines: Sequence[StandardAnswer]) -> tuple[Threshold, ...]:
    cards = client.agents()
    used = {(card.pool, card.rubric or "?") for card in (cards[line.agent] for line in lines)}
    return tuple(_threshold(client, pool, rubric) for pool, rubric in sorted(used))


def _threshold(client: Client, pool: str, name: str) -> Threshold:
    try:
        rubric = find_rubric(name, client.settings.agents_dir)
    except BadInput:  # the agent is of another machine, and its rubric, too
        return Threshold(pool, name, None, mean_of_seeds=False)
    of_seeds = rubric.threshold == MEAN_OF_SEEDS and client.seeds_mean(pool) is not None
    return Threshold(pool, name, threshold_for(rubric, pool, client.seeds_mean), of_seeds)
