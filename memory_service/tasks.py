"""The Celery tasks of the queue `memory`: settling graded pairs, and what people do with a pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from celery import Celery
from pydantic import TypeAdapter, ValidationError

from memshare.broker.app import REPR_LENGTH
from memshare.broker.delivery.stage import Outcome, Stage, StageServices, add_stage, readable
from memshare.broker.errors import BadInput, MemshareError
from memshare.broker.observe.request import SHORT_REQUEST
from memshare.broker.wire.messages import Credited, GradedTask, VerdictTask
from memshare.memory_service.admit.settle import Settle
from memshare.memory_service.curate.curate import Curate
from memshare.memory_service.curate.requests import Edit, Forget, NewMemory
from memshare.memory_service.memory import Memory
from memshare.memory_service.recall.recall import Mode
from memshare.memory_service.stores.store import Where

Json = Any


def register(
    app: Celery, services: Callable[[], StageServices], settle: Callable[[], Settle], curate: Callable[[], Curate]
) -> None:
    """Register the tasks; what they need is built when the first message comes."""
    settling = Stage(
        "memory_service.settle", "settle", GradedTask, lambda journey, graded: settle().run(journey, graded)
    )
    add_stage(app, settling, services)

    def credit(journey: str, task: VerdictTask) -> Outcome:
        return Outcome(Credited(memories=settle().credit(journey, task, task.verdict, task.verdict)))

    add_stage(app, Stage("memory_service.credit", "credit", VerdictTask, credit), services)

    def request(answer: Callable[..., Json]) -> None:
        """A task that a person waits for: its result is the reply, and it is not tried again."""
        app.task(
            name=f"memory_service.{answer.__name__}",
            throws=(MemshareError,),
            resultrepr_maxsize=REPR_LENGTH,
            Request=SHORT_REQUEST,
        )(answer)

    def search(pool: str, text: str, k: int, mode: str) -> Json:
        hits = curate().search(pool, text, k, _read(Mode, mode))
        return [{"memory": _plain([hit.memory])[0], "similarity": hit.similarity} for hit in hits]

    def page(where: dict[str, Json], limit: int, after: str | None) -> Json:
        found = curate().page(_read(Where, where), limit, UUID(after) if after else None)
        return {"memories": _plain(found.memories), "after": found.after and str(found.after)}

    def show(memory: str) -> Json:
        return _plain([curate().get(_read(UUID, memory))])[0]

    def stats() -> Json:
        by_pool = curate().stats()
        return {"total": sum(by_pool.values()), "by_pool": by_pool}

    def add(memories: list[Json]) -> Json:
        return [str(one) for one in curate().add(_read(list[NewMemory], memories))]

    def restore(memories: list[Json]) -> Json:
        return [str(one) for one in curate().restore(_read(list[Memory], memories))]

    def edit(change: dict[str, Json]) -> Json:
        return _plain([curate().edit(_read(Edit, change))])[0]

    def forget(which: dict[str, Json]) -> Json:
        return [str(one) for one in curate().forget(_read(Forget, which))]

    def standing(memories: list[str]) -> Json:
        found = curate().standing(_read(list[UUID], memories))
        return [
            {"memory": _plain([memory])[0], "credibility": how._asdict(), "conflicts": [str(one) for one in rivals]}
            for memory, how, rivals in found
        ]

    def conflicts(pool: str) -> Json:
        return [[str(one), str(other)] for one, other in curate().conflicts(pool)]

    for answer in (search, page, show, stats, add, restore, edit, forget, standing, conflicts):
        request(answer)


def _read(form: Any, value: Json) -> Any:
    try:
        return TypeAdapter(form).validate_python(value)
    except ValidationError as error:
        raise BadInput(readable(error, "The request")) from error


def _plain(memories: Sequence[Memory]) -> list[dict[str, Json]]:
    return [memory.model_dump(mode="json") for memory in memories]
