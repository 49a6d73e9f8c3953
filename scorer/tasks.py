"""The Celery task of the queue `scorer`: `scorer.score` grades one answered task."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from celery import Celery

from broker.app import MEMORY_QUEUE
from broker.errors import GiveUp
from broker.messages import AnsweredTask, GradedTask, derived_id
from broker.stage import Desk, Following, Outcome, Stage, add_stage
from llm.chat import Chat
from llm.metered import Metering, Payer, unmetered
from scorer.grading import Pair, grade
from scorer.rubric import find_rubric, rubric_files
from scorer.threshold import SeedsMean, threshold_for

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Scoring:
    """The scorer at work, with its model and the user's folder of rubrics."""

    chat: Chat
    agents_dir: Path | None
    votes: int
    seeds_mean: SeedsMean
    metering: Metering = unmetered

    def run(self, journey: str, task: AnsweredTask) -> Outcome:
        """Grade the pair and hand it on; raises `GiveUp` where the rubric is not approved."""
        rubric = find_rubric(task.rubric, self.agents_dir)
        if not rubric.approved:
            file = rubric_files(self.agents_dir)[rubric.name]
            letter = derived_id(journey, "score")
            raise GiveUp(
                f"Rubric {rubric.name!r} (version {rubric.version}) is not approved, so nothing is graded by it. "
                f"Run `memshare rubric approve {file}`, then `memshare dead retry {letter}`.",
                "rubric",
            )
        threshold = threshold_for(rubric, task.pool, self.seeds_mean)
        pair = Pair(task.kind, task.prompt, task.answer)
        with self.metering(self.chat, Payer(journey, task.agent, task.submitter)) as chat:
            score = grade(chat, rubric, threshold, pair, votes=self.votes)
        verdict = "accepted" if score.accepted else "not accepted"
        log.info("Graded %.1f of 100, %s at %.1f. task_id=%s", score.total, verdict, threshold, journey)
        graded = GradedTask(task=task, score=score)
        return Outcome(score, Following("memory_service.settle", MEMORY_QUEUE, "settle", graded))


def register(app: Celery, desk: Callable[[], Desk], scoring: Callable[[], Scoring]) -> None:
    """Register the task; what it needs is built when the first message comes."""
    score = Stage("scorer.score", "score", AnsweredTask, lambda journey, task: scoring().run(journey, task))
    add_stage(app, score, desk)
