"""The Celery tasks of the queue `memory`.

Settling graded pairs, crediting memories, writing their concepts, and recall for foreign clients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from celery import Celery
from pydantic import ValidationError

from memshare.broker.app import REPR_LENGTH
from memshare.broker.delivery.stage import Stage
from memshare.broker.delivery.stage_task import StageServices, add_stage
from memshare.broker.errors import BadInput, MemshareError
from memshare.broker.observe.request import SHORT_REQUEST
from memshare.broker.wire.checking import readable
from memshare.broker.wire.extractions import Extracted
from memshare.broker.wire.grades import GradedTask, VerdictTask
from memshare.memory_service.admit.extractions import note_concepts
from memshare.memory_service.admit.settle import SettleStage
from memshare.memory_service.door.messages import RecallRequest
from memshare.memory_service.door.recalls import Recalls
from memshare.memory_service.pool.pool import Pool


def register(
    app: Celery,
    services: Callable[[], StageServices],
    settle: Callable[[], SettleStage],
    pool: Callable[[], Pool],
    recalls: Callable[[], Recalls],
) -> None:
    """Register the tasks; what they need is built when the first message comes."""
    settling = Stage(
        "memory_service.settle",
        "settle",
        GradedTask,
        lambda journey, graded: settle().run(journey, graded),
        journey_at=("task", "journey"),
        kept=("outcome", "memory_id"),
    )
    add_stage(app, settling, services)

    crediting = Stage(
        "memory_service.credit",
        "credit",
        VerdictTask,
        lambda _, task: settle().credit(task),
        journey_at=("journey",),
    )
    add_stage(app, crediting, services)

    noting = Stage(
        "memory_service.concepts",
        "concepts",
        Extracted,
        lambda _journey, extracted: note_concepts(pool(), extracted),
        journey_at=("journey",),
        kept=None,  # it says nothing of what became of the pair
    )
    add_stage(app, noting, services)

    @app.task(
        name="memory_service.recall",
        throws=(MemshareError,),
        resultrepr_maxsize=REPR_LENGTH,
        Request=SHORT_REQUEST,
        takes=RecallRequest,
        from_outside=True,
    )
    def recall(request: dict[str, Any]) -> dict[str, Any]:
        """Recall for clients that speak Celery alone; everybody else asks at the door."""
        try:
            wanted = RecallRequest.model_validate(request)
        except ValidationError as error:
            raise BadInput(readable(error, "memory_service.recall")) from error
        return recalls().ask(wanted).result().model_dump(mode="json", exclude={"embedding"})
