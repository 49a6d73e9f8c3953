"""The embedded store: Qdrant Edge, the engine of Qdrant, inside the one process that owns the folder.

Rewrites the files of an embedded pool: the engine itself leaves what was deleted in its log and its payload files.

All that the pool holds is copied to a new engine beside the old one, which then takes its place. A process that ends
in between leaves one of the two whole, and the next one that opens the folder tidies up.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args
from uuid import UUID

import numpy as np
import qdrant_edge as edge
from numpy.typing import NDArray

from memshare_broker.errors import TryAgain, Unreachable
from memshare_memory.memory import Memory, Status
from memshare_memory.stores import points
from memshare_memory.stores.edge import edge_folder, edge_opening, edge_requests
from memshare_memory.stores.edge.edge_opening import OpenedPool, close_engine, loaded, open_engine
from memshare_memory.stores.edge.integrity import CountCache, Kind, digest, no_panic
from memshare_memory.stores.store import (
    EXACT,
    CountKey,
    Hit,
    Layout,
    Order,
    Page,
    Query,
    RawPage,
    RawPoint,
    Vectors,
    Where,
)


def rewritten(folder: Path, shard: edge.EdgeShard) -> edge.EdgeShard:
    """The engine of a pool's folder on new files, with what `shard` holds; nobody may write meanwhile."""
    layout = edge_folder.layout_of(folder)
    assert layout is not None
    engine, fresh, old = edge_folder.engine_of(folder), edge_folder.fresh_of(folder), edge_folder.old_of(folder)
    _copy(shard, folder, fresh, layout)
    engine.rename(old)
    fresh.rename(engine)
    opened = loaded(folder, engine, layout)
    shutil.rmtree(old)  # who reads in it still has its files open
    return opened


def remove_others(folder: Path) -> tuple[str, ...]:
    """Remove the pools of other encoders, which are made anew when they are wanted; returns the copies that stay.

    Those were kept from before a restore or a repair, or belong to a process that has them open.
    """
    kept = []
    for path in sorted(
        (*folder.parent.glob(f"{folder.name.partition('-')[0]}*"), *folder.parent.glob("before-restore-*"))
    ):
        if not path.is_dir() or path == folder:
            continue
        try:
            if edge_folder.layout_of(path) is None or "." in path.name:
                kept.append(str(path))
                continue
            with edge_folder.lock(path):
                shutil.rmtree(path)
        except Unreachable:
            kept.append(str(path))
    return tuple(kept)


def _copy(shard: edge.EdgeShard, folder: Path, fresh: Path, layout: Layout) -> None:
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    target = loaded(folder, fresh, layout)
    edge_opening.build(target, folder)  # while it is empty, or it would take noted credibility for none
    for page in edge_requests.pages(shard, payload=True, vectors=True):
        copies = [edge.Point(one.id, cast("dict[str, edge.NamedVector]", one.vector), one.payload) for one in page]
        if copies:
            edge_folder.require_room(folder)
            target.update(edge.UpdateOperation.upsert_points(copies, None, edge.UpdateMode.Upsert))
    edge_opening.build(target, folder)
    target.flush()
    target.close()


log = logging.getLogger(__name__)

_FLUSH_EVERY = 10_000
"""Writes after which the engine's files are brought up to date. It takes as long for one write as for thousands (50 ms
and more, for it waits for the disk file by file); until then the engine's log has them, some 5 kB each, and a log of
this length is read again within a second or two after a kill."""


_READ = 2_000  # memories of each of two halves, some 8 kB each


class _ReadMemories:
    """Memories that were read lately, by id, until they are written again. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._new: dict[UUID, Memory] = {}
        self._old: dict[UUID, Memory] = {}
        self.writes = 0
        """Grows before a write and after it."""

    def get(self, one: UUID) -> Memory | None:
        return self._new.get(one) or self._old.get(one)

    def note(self, memories: Mapping[UUID, Memory], writes: int) -> None:
        """Note memories that were read since so many writes; if another has begun meanwhile, they may have changed."""
        with self._lock:
            if writes == self.writes:
                if len(self._new) >= _READ:
                    self._old, self._new = self._new, {}
                self._new |= memories

    def forget(self, ids: Iterable[UUID]) -> None:
        with self._lock:
            self.writes += 1
            for one in ids:
                self._new.pop(one, None)
                self._old.pop(one, None)


class EdgeStore:
    """A pool in a folder.

    A write is in the engine's log when `put` or `delete` returns: it survives the end of the process in
    any way (kill -9 included). A loss of power may cost what was written since the last flush.
    Every call holds Python's global lock while it runs, so other threads wait for it.
    """

    def __init__(self, opened: OpenedPool, folder: Path) -> None:
        self._opened = opened
        self._shard, self._tally = opened.shard, opened.tally
        self._folder = folder
        self._writing = threading.Lock()
        self._unflushed = 0
        self._counts: CountCache | None = None
        self._read = _ReadMemories()
        self.unreadable: set[UUID] = set()

    @classmethod
    def open(cls, folder: Path, layout: Layout, owner: str) -> EdgeStore:
        """Open the pool of a folder, making it if need be; `owner` is what a second opener is told.

        Raises `Unreachable` for a folder that another process has open, `Damaged` for one whose files are not what
        they were, `BadInput` for one that cannot be written or was made for another encoder.
        """
        store = cls(open_engine(folder, layout), folder)
        try:
            edge_folder.claim(folder, owner)
            edge_opening.build(store._shard, folder)
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Bring the files up to date and let another process open the folder."""
        close_engine(self._folder, self._opened)

    def put(self, items: Sequence[tuple[Memory, Vectors]], *, in_place: bool = False, are_new: bool = False) -> None:
        mode = edge.UpdateMode.UpdateOnly if in_place else edge.UpdateMode.Upsert
        for batch in points.batches(items):
            last = {memory.id: (memory, given) for memory, given in batch}
            stays = {} if are_new else self._staying(list(last))
            made = [
                edge.Point(
                    one,
                    edge_requests.vectors(given),
                    points.fields(memory, given, stays.get(one)),
                )
                for one, (memory, given) in last.items()
            ]
            self._write(edge.UpdateOperation.upsert_points(made, None, mode), list(last), made, in_place=in_place)

    def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        if not queries:
            return []
        writes = self._read.writes
        hits = self._search(queries)
        if writes != self._read.writes:  # some may have changed between the search and the reading
            with self._writing:
                hits = self._search(queries)
        return hits

    def _search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        with no_panic(self._folder):
            found = self._shard.query_batch(edge.QueryBatchRequest([edge_requests.request(query) for query in queries]))
        scored = [[(cast("UUID", one.id), one.score, one.vector) for one in some] for some in found]
        memories = self._memories_by_id({one for some in scored for one, *_ in some})
        return [
            points.hits(query, ((memories.get(one), score, vectors) for one, score, vectors in some))
            for query, some in zip(queries, scored, strict=True)
        ]

    def _memories_by_id(self, ids: Collection[UUID]) -> dict[UUID, Memory]:
        """The memories with these ids that can be read. Fetching by id is five times as fast as by a filter."""
        writes = self._read.writes
        known = {one: memory for one in ids if (memory := self._read.get(one)) is not None}
        if missing := [one for one in ids if one not in known]:
            with no_panic(self._folder):
                found = self._shard.retrieve(list(missing), with_payload=[points.WHOLE], with_vector=False)
            read = {one.id: points.memory(one.id, one.payload, self.unreadable) for one in found}
            readable = {cast("UUID", one): memory for one, memory in read.items() if memory is not None}
            self._read.note(readable, writes)
            known |= readable
        return known

    def page(self, where: Where, limit: int, after: UUID | None = None, *, order: Order | None = None) -> Page:
        is_by_id = order is None and after is None and where.ids is not None and where == Where(ids=where.ids)
        if is_by_id and len(where.ids or ()) <= limit:
            found_by_id = self._memories_by_id(set(where.ids or ()))
            return Page([found_by_id[one] for one in sorted(found_by_id)], None)
        request = edge.ScrollRequest(
            offset=after,
            limit=limit,
            filter=edge_requests.matching(where),
            with_payload=[points.WHOLE],
            order_by=edge_requests.sorting(order),
        )
        with no_panic(self._folder):
            found, following = self._shard.scroll(request)
        return Page(self._memories(found), None if order else cast("UUID | None", following))

    def _memories(self, found: Iterable[edge.Record]) -> list[Memory]:
        return points.memories(((one.id, one.payload) for one in found), self.unreadable)

    def raw(self, limit: int, after: UUID | None = None, *, text_alone: bool = False) -> RawPage:
        request = edge.ScrollRequest(
            offset=after,
            limit=limit,
            with_payload=[points.WHOLE] if text_alone else True,
            with_vector=False if text_alone else [points.DENSE],
        )
        with no_panic(self._folder):
            found, following = self._shard.scroll(request)
        raw = [RawPoint(UUID(str(one.id)), dict(one.payload or {}), points.dense_of(one.vector)) for one in found]
        return RawPage(raw, cast("UUID | None", following))

    def order_ids(self, where: Where, order: Order, limit: int) -> list[UUID]:
        with no_panic(self._folder):
            found, _ = self._shard.scroll(edge_requests.order_ids(where, order, limit))
        return [UUID(str(one.id)) for one in found]

    def note_credibility(self, noted: Mapping[UUID, float]) -> None:
        edge_folder.require_room(self._folder)
        with self._writing, no_panic(self._folder):
            for one in self._staying(list(noted)):
                self._shard.update(edge.UpdateOperation.set_payload([one], {points.CREDIBILITY: noted[one]}))

    def _staying(self, ids: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
        """Fields that stay with the memories of these ids that exist."""
        with no_panic(self._folder):
            found = self._shard.retrieve(list(ids), with_payload=points.STAYING, with_vector=False)
        return points.staying((one.id, one.payload) for one in found)

    def count(self, where: Where, by: CountKey = "pool") -> dict[str, int]:
        if by not in EXACT:
            return self._count(where, by)
        with self._writing:
            kept = self._kept().count(where, by)
        return self._count(where, by) if kept is None else kept

    def dense_of(self, ids: Sequence[UUID]) -> dict[UUID, NDArray[np.float32]]:
        with no_panic(self._folder):
            found = self._shard.retrieve(sorted(set(ids)), with_payload=False, with_vector=[points.DENSE])
        return {UUID(str(one.id)): dense for one in found if (dense := points.dense_of(one.vector)) is not None}

    def both_of(self, ids: Sequence[UUID]) -> dict[UUID, NDArray[np.float32]]:
        with no_panic(self._folder):
            found = self._shard.retrieve(sorted(set(ids)), with_payload=[points.MASKED], with_vector=[points.DENSE])
        return points.both_in((one.id, one.payload, one.vector) for one in found)

    def delete(self, ids: Sequence[UUID]) -> None:
        if ids:
            self._write(edge.UpdateOperation.delete_points(list(ids)), list(set(ids)), [])
            self.unreadable -= set(ids)

    def rewrite(self) -> tuple[str, ...]:
        """Rewrite the files, so that nothing of what was removed or replaced stands in them; writers wait for it.

        Returns the folders beside the pool's that may have what was removed.
        """
        with self._writing, no_panic(self._folder):
            self._shard = rewritten(self._folder, self._shard)
            self._opened = self._opened._replace(shard=self._shard)
        return remove_others(self._folder)

    def _count(self, where: Where, by: CountKey = "pool") -> dict[str, int]:
        """Number of memories by each value of a field, as the engine counts them."""
        request = edge_requests.facet(where, by)
        with no_panic(self._folder):
            counted = self._shard.facet(request)
        return {str(hit.value): hit.count for hit in counted.hits if hit.count}

    def _kept(self) -> CountCache:
        if self._counts is None:
            statuses = get_args(Status)
            counted = {(pool, one): count for one in statuses for pool, count in self._count(Where(status=one)).items()}
            self._counts = CountCache(counted)
        return self._counts

    def _write(
        self,
        operation: edge.UpdateOperation,
        ids: Sequence[UUID],
        made: Sequence[edge.Point],
        *,
        in_place: bool = False,
    ) -> None:
        """Write to the engine, and count: these ids stand there no more, or as these points.

        With `in_place` the operation makes no new ones."""
        edge_folder.require_room(self._folder)
        with self._writing, no_panic(self._folder):
            counts = self._kept()
            there = self._shard.retrieve(list(ids), with_payload=["pool", "status", points.WHOLE], with_vector=False)
            if in_place:
                known = {str(one.id) for one in there}
                made = [one for one in made if str(one.id) in known]
            held = self._tally.now
            after = held and held.changed(map(_digest, there), map(_digest, made))
            if after is not None:
                self._tally.will_be(after)
            self._counts = None  # counted again where the write fails halfway
            self._read.forget(ids)
            try:
                self._shard.update(operation)
            except BaseException as error:
                self._tally.is_now(None)
                if "No space left" in str(error):
                    raise TryAgain(
                        f"The disk of {str(self._folder)!r} is full. Make room for the pool.", reason="store"
                    ) from error
                raise
            finally:
                self._read.forget(ids)
            self._tally.is_now(after)
            counts.change(_kinds(there), _kinds(made))
            self._counts = counts
            self._unflushed += len(ids)
            if self._unflushed >= _FLUSH_EVERY:
                self._shard.flush()
                self._unflushed = 0


def _digest(point: edge.Point | edge.Record) -> int:
    return digest(point.id, (point.payload or {}).get(points.WHOLE))


def _kinds(found: Sequence[edge.Point | edge.Record]) -> list[Kind]:
    """Pool and status of points; one that is damaged has none, and is counted nowhere."""
    kinds = ((point.payload or {}) for point in found)
    return [(str(one["pool"]), str(one["status"])) for one in kinds if "pool" in one and "status" in one]
