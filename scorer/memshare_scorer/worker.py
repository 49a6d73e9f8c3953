"""Builds the scorer and serves its queue; `celery -A memshare_scorer.worker worker` runs it alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import redis

from memshare_broker.app import SCORER_QUEUE, App
from memshare_broker.connection import connect
from memshare_broker.delivery.hops import COMPARE, SCORE
from memshare_broker.delivery.journey_records import note_unremembered
from memshare_broker.presence import present
from memshare_broker.settings import Settings
from memshare_broker.wire.lessons import Compared, CompareTask
from memshare_broker.wire.messages import AgentPair
from memshare_broker.worker import WorkerPart, open_stage_services, worker_app
from memshare_llm.batches import Batches
from memshare_llm.build import fit_in_time, hand_in_deferred, open_budget, open_deferring, open_limited, open_metering
from memshare_memory.admit.seeds import seeds_mean
from memshare_memory.belief.lift import LiftSums, tries_of
from memshare_scorer.grading import KnownAgents, note_grade
from memshare_scorer.programs import require_checks
from memshare_scorer.recheck import pulse
from memshare_scorer.rubric import all_rubrics
from memshare_scorer.tasks import CompareStage, Places, ScoreStage, register


@functools.cache
def _scoring(settings: Settings) -> ScoreStage:
    connections = settings.concurrency * settings.scorer_votes
    chat = open_limited(settings, settings.model_for("scorer"), "grades", connections=connections)
    client, ledger = connect(settings.redis), open_stage_services(settings).ledger
    agents = KnownAgents(settings.agents_dir, lambda: [card for worker in present(client) for card in worker.agents])
    return ScoreStage(
        chat,
        settings.agents_dir,
        settings.scorer_votes,
        functools.partial(seeds_mean, client),
        open_metering(settings),
        open_budget(settings).check,
        settings.prompt_limit,
        agents,
        Places(settings.concurrency, lambda: ledger.open_in(SCORER_QUEUE)),
        lambda model, rubric, unsure: note_grade(client, model, rubric, unsure=unsure),
        functools.partial(_note_ungraded, client, LiftSums(client, settings.keep_days)),
        open_deferring(settings, settings.model_for("scorer"), SCORE),
    )


def _note_ungraded(client: redis.Redis, lift: LiftSums, task: AgentPair) -> None:
    """Note where the task stood among those of which some are shown memories, and some not."""
    if not task.remember:
        note_unremembered(client, task.agent, task.journey)
    for group, withheld in tries_of(task):
        lift.note(task.pool, task.journey, group, withheld=withheld)


@functools.cache
def _comparing(settings: Settings) -> CompareStage:
    client, model = connect(settings.redis), settings.model_for("scorer")
    ledger, wait = open_stage_services(settings).ledger, settings.concepts_wait
    batches: Batches[CompareTask, Compared] = Batches(
        COMPARE, "comparisons", client, ledger, wait, model=model, in_time=fit_in_time(settings, model)
    )
    chat = open_limited(settings, model, "comparisons", connections=settings.concurrency)
    return CompareStage(chat, batches, _scoring(settings).places, open_deferring(settings, model, COMPARE))


def _register(app: App, settings: Settings) -> None:
    require_checks(all_rubrics(settings.agents_dir).values())  # a broken file is refused at the start
    services = functools.partial(open_stage_services, settings)
    register(app, services, functools.partial(_scoring, settings), functools.partial(_comparing, settings))


def _warm(settings: Settings, queues: Sequence[str]) -> None:
    if SCORER_QUEUE in queues:
        _scoring(settings)


def _pulse(settings: Settings, queues: Sequence[str]) -> None:
    hand_in_deferred(settings, settings.model_for("scorer"))
    pulse(settings, queues)


part = WorkerPart(queues=lambda _: [SCORER_QUEUE], register=_register, warm=_warm, pulse=_pulse)
app = worker_app(part)
