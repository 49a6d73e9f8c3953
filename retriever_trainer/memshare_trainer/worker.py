"""Builds the trainer and serves its queue; `celery -A memshare_trainer.worker worker` runs it alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memshare_broker.app import TRAINER_QUEUE, App
from memshare_broker.connection import connect
from memshare_broker.delivery.hops import LEARN
from memshare_broker.delivery.stage import Stage, add_stage
from memshare_broker.settings import Settings
from memshare_broker.worker import WorkerPart, open_stage_services, worker_app
from memshare_llm.batches import Batches
from memshare_llm.build import fit_in_time, hand_in_deferred, open_deferring, open_limited
from memshare_trainer.consolidation.automatic import Automatic

if TYPE_CHECKING:
    from memshare_trainer.learn import LearnStage


@functools.cache
def _learn(settings: Settings) -> LearnStage:
    # torch takes seconds to import, and only who learns needs it.
    import torch

    from memshare_trainer.labels import SIDE_BY_SIDE, Labeller
    from memshare_trainer.learn import LearnStage
    from memshare_trainer.percentages import LabelCheck, Percentages

    torch.set_num_threads(1)  # a step is small: in two threads it takes several times as long
    connections = settings.concurrency * SIDE_BY_SIDE
    chat = open_limited(settings, settings.model_for("trainer"), "labels", connections=connections)
    client = connect(settings.redis)
    ledger = open_stage_services(settings).ledger
    wait, most = settings.concepts_wait, settings.lessons_together
    model = settings.model_for("trainer")
    in_time = fit_in_time(settings, model)
    batches = Batches(LEARN, "labels", client, ledger, wait, most=most, said=Percentages, model=model, in_time=in_time)
    labeller = Labeller(chat, open_deferring(settings, model, LEARN), settings.labels, batches)
    # For as long as a message may be tried again, it is known what it taught.
    tried_for = max(settings.traces_days, settings.retry_hours / 24 + 1)
    return LearnStage(client, labeller, LabelCheck(client, model), kept=settings.lessons_kept, keep_days=tried_for)


def _register(app: App, settings: Settings) -> None:
    stage = Stage(LEARN, lambda journey, task: _learn(settings).run(journey, task))
    add_stage(app, stage, functools.partial(open_stage_services, settings))


def _warm(settings: Settings, queues: Sequence[str]) -> None:
    """Only the model is opened, so that no fault hides; torch comes with the first lesson.

    So does all that imports httpx, and a call by openai in one thread fails while another one imports that: it is
    imported here, before the first task.
    """
    if TRAINER_QUEUE in queues:
        import httpx  # noqa: F401

        open_limited(settings, settings.model_for("trainer"), "labels", connections=1)


_automatic = Automatic()


def _pulse(settings: Settings, queues: Sequence[str]) -> None:
    hand_in_deferred(settings, settings.model_for("trainer"))
    _automatic.pulse(settings, queues)


part = WorkerPart(queues=lambda _: [TRAINER_QUEUE], register=_register, warm=_warm, pulse=_pulse)
app = worker_app(part)
