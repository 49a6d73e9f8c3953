"""The Celery task of the queue `trainer`: `retriever_trainer.learn` learns from one new memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from celery import Celery

from memshare_broker.delivery.hops import LEARN
from memshare_broker.delivery.stage import Stage
from memshare_broker.delivery.stage_task import StageServices, add_stage

if TYPE_CHECKING:
    from memshare_trainer.learn import LearnStage  # imports torch, which only a trainer needs


def register(app: Celery, services: Callable[[], StageServices], learn: Callable[[], LearnStage]) -> None:
    """Register the task; what it needs is built when the first message comes."""
    add_stage(app, Stage(LEARN, lambda journey, task: learn().run(journey, task)), services)
