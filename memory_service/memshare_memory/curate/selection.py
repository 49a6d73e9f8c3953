"""Which memories a request to forget is about: those of the pool, and those of the trash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from memshare_broker.errors import BadInput
from memshare_memory.curate.requests import Forget
from memshare_memory.curate.stale import children_of
from memshare_memory.forget.trash import Trash
from memshare_memory.memory import Memory
from memshare_memory.stores.pages import every
from memshare_memory.stores.store import Store, Where


@dataclass(frozen=True)
class Selection:
    """The memories that are meant, by id."""

    there: dict[UUID, Memory]
    """Those of the pool."""
    trashed: dict[UUID, Memory]
    """Those of the trash."""
    unreadable: list[UUID]
    """Ids that were asked for, of points of the pool that cannot be read as memories."""
    unknown: list[UUID]
    """Ids that were asked for and that the pool does not have; the trash has them."""
    derived: int
    """How many of all these were derived from those asked for."""

    @classmethod
    def find(cls, store: Store, trash: Trash, forget: Forget) -> Selection:
        """Raises `BadInput` for an id that neither has."""
        there = {memory.id: memory for where in _wheres(forget) for memory in every(store, where)}
        trashed = {memory.id: memory for memory in _in_trash(trash, forget)}
        absent = [one for one in dict.fromkeys(forget.ids) if one not in there]
        has_vector = store.dense_of(absent) if absent else {}
        unreadable = [one for one in absent if one in has_vector]
        unknown = [one for one in absent if one not in unreadable]
        missing = [one for one in unknown if one not in trashed]
        if missing:
            raise BadInput(f"No memory has the id {str(missing[0])!r}; nothing was forgotten.")
        asked = len(there.keys() | trashed.keys())
        if forget.with_children or forget.only_children:
            wanted = there.keys() | trashed.keys()
            _add_children(store, trash, there, trashed)
            if forget.only_children:
                there = {one: memory for one, memory in there.items() if one not in wanted}
                trashed = {one: memory for one, memory in trashed.items() if one not in wanted}
                asked, unreadable, unknown = 0, [], []
        return cls(there, trashed, unreadable, unknown, len(there.keys() | trashed.keys()) - asked)


def _add_children(store: Store, trash: Trash, there: dict[UUID, Memory], trashed: dict[UUID, Memory]) -> None:
    """All memories that were derived from these, directly or by others."""
    in_trash = [item.memory for item in trash.every()]
    fresh = [*there, *trashed]
    while fresh:
        parents, known = set(fresh), there.keys() | trashed.keys()
        children = children_of(store, fresh)
        forgotten = {memory.id: memory for memory in in_trash if parents.intersection(memory.parents)}
        there |= children
        trashed |= forgotten
        fresh = sorted((children.keys() | forgotten.keys()) - known)


def _wheres(forget: Forget) -> Sequence[Where]:
    meant = [Where(ids=forget.ids)] if forget.ids else []
    if forget.submitter is not None:
        meant.append(Where(submitter=forget.submitter))
    if forget.model is not None:
        meant.append(Where(model=forget.model))
    if forget.task_id is not None:
        meant.append(Where(task_id=forget.task_id))
    if not meant:
        raise BadInput("Say what to forget: ids, a submitter, a model or a task.")
    return meant


def _in_trash(trash: Trash, forget: Forget) -> list[Memory]:
    found = [item.memory for item in trash.read(forget.ids)]
    wanted = {"submitter": forget.submitter, "model": forget.model, "task_id": forget.task_id}
    given = {name: value for name, value in wanted.items() if value is not None}
    if given:
        memories = [item.memory for item in trash.every()]
        found += [one for one in memories if any(getattr(one, name) == value for name, value in given.items())]
    return found
