"""The Celery tasks of the queue `memory`.

Settling graded pairs, crediting memories, writing what was found out of them, and recall for foreign clients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import redis
from pydantic import ValidationError

from memshare_broker.app import App
from memshare_broker.delivery.hops import CREDIT, NOTE_COMPARED, NOTE_CONCEPTS, SETTLE
from memshare_broker.delivery.incoming import SHORT_REQUEST
from memshare_broker.delivery.stage import Stage, StageServices, add_stage
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.observe.safe_text import REPR_LENGTH
from memshare_broker.wire.forms import readable
from memshare_memory.admit.after import note_compared, note_concepts
from memshare_memory.admit.settle import SettleStage
from memshare_memory.door.messages import RecallRequest
from memshare_memory.door.service import RecallBatches
from memshare_memory.pool.pool import Pool


def register(
    app: App,
    services: Callable[[], StageServices],
    settle: Callable[[], SettleStage],
    pool: Callable[[], Pool],
    client: redis.Redis,
    recalls: Callable[[], RecallBatches],
) -> None:
    """Register the tasks; what they need is built when the first message comes."""
    add_stage(app, Stage(SETTLE, lambda journey, graded: settle().run(journey, graded)), services)
    add_stage(app, Stage(CREDIT, lambda _, task: settle().credit(task)), services)
    add_stage(app, Stage(NOTE_CONCEPTS, lambda _, extracted: note_concepts(pool(), extracted)), services)
    add_stage(app, Stage(NOTE_COMPARED, lambda _, pairs: note_compared(pool(), client, pairs)), services)

    @app.task(
        name="memory_service.recall",
        throws=(MemshareError,),
        resultrepr_maxsize=REPR_LENGTH,
        Request=SHORT_REQUEST,
    )
    def recall(request: dict[str, Any]) -> dict[str, Any]:
        """Recall for clients that speak Celery alone; everybody else asks at the door."""
        try:
            wanted = RecallRequest.model_validate(request)
        except ValidationError as error:
            raise BadInput(readable(error, "memory_service.recall")) from error
        return recalls().ask(wanted).result().model_dump(mode="json", exclude={"embedding"})
