"""The embedded store: Qdrant Edge, the engine of Qdrant, inside the one process that owns the folder."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args
from uuid import UUID

import numpy as np
import qdrant_edge as edge
from numpy.typing import NDArray

from memshare_broker.errors import TryAgain
from memshare_memory.memory import Memory, Status
from memshare_memory.stores import edge_engine, edge_folder, points
from memshare_memory.stores.edge_engine import OpenedPool, close_engine, open_engine, remove_others, rewritten
from memshare_memory.stores.edge_integrity import CountCache, Kind, digest, no_panic
from memshare_memory.stores.store import (
    EXACT,
    MOST_VALUES,
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

_FLUSH_EVERY = 10_000
"""Writes after which the engine's files are brought up to date. It takes as long for one write as for thousands (50 ms
and more, for it waits for the disk file by file); until then the engine's log has them, some 5 kB each, and a log of
this length is read again within a second or two after a kill."""


_READ = 4_000  # memories that are at hand, some 8 kB each


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
        self._read: dict[UUID, Memory] = {}
        """Memories that were read lately. A write puts another dictionary in its place, before it and after it: who
        began to read before that writes what may have changed into the old one, which nobody asks any more."""
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
            edge_engine.build(store._shard, folder)
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        close_engine(self._folder, self._opened)

    def put(self, items: Sequence[tuple[Memory, Vectors]], *, in_place: bool = False, are_new: bool = False) -> None:
        mode = edge.UpdateMode.UpdateOnly if in_place else edge.UpdateMode.Upsert
        for batch in points.batches(items):
            last = {memory.id: (memory, given) for memory, given in batch}
            stays = {} if are_new else self._staying(list(last))
            made = [
                edge.Point(name, vectors(given), points.fields(memory, given, stays.get(name)))
                for name, (memory, given) in last.items()
            ]
            self._write(edge.UpdateOperation.upsert_points(made, None, mode), list(last), made, in_place=in_place)

    def search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        if not queries:
            return []
        read = self._read
        hits = self._search(queries)
        if read is not self._read:  # some may have changed between the search and the reading
            with self._writing:
                hits = self._search(queries)
        return hits

    def _search(self, queries: Sequence[Query]) -> list[list[Hit]]:
        with no_panic(self._folder):
            found = self._shard.query_batch(edge.QueryBatchRequest([_request(query) for query in queries]))
        scored = [[(cast("UUID", point.id), point.score, point.vector) for point in some] for some in found]
        memories = self._memories_by_id({name for some in scored for name, *_ in some})
        return [
            points.hits(query, ((memories.get(name), score, vectors) for name, score, vectors in some))
            for query, some in zip(queries, scored, strict=True)
        ]

    def _memories_by_id(self, ids: Collection[UUID]) -> dict[UUID, Memory]:
        """The memories with these ids that can be read. Fetching by id is five times as fast as by a filter."""
        read = self._read
        known = {name: memory for name in ids if (memory := read.get(name)) is not None}
        if missing := [name for name in ids if name not in known]:
            with no_panic(self._folder):
                found = self._shard.retrieve(list(missing), with_payload=[points.WHOLE], with_vector=False)
            whole = {cast("UUID", point.id): points.memory(point.id, point.payload, self.unreadable) for point in found}
            readable = {name: memory for name, memory in whole.items() if memory is not None}
            if len(read) > _READ:
                read.clear()
            read.update(readable)
            known |= readable
        return known

    def _forget(self, ids: Sequence[UUID]) -> None:
        left = self._read.copy()
        for name in ids:
            left.pop(name, None)
        self._read = left

    def page(self, where: Where, limit: int, after: UUID | None = None, *, order: Order | None = None) -> Page:
        is_by_id = order is None and after is None and where.ids is not None and where == Where(ids=where.ids)
        if is_by_id and len(where.ids or ()) <= limit:
            found_by_id = self._memories_by_id(set(where.ids or ()))
            return Page([found_by_id[name] for name in sorted(found_by_id)], None)
        request = edge.ScrollRequest(
            offset=after, limit=limit, filter=_matching(where), with_payload=[points.WHOLE], order_by=_sorting(order)
        )
        with no_panic(self._folder):
            found, following = self._shard.scroll(request)
        return Page(self._memories(found), None if order else cast("UUID | None", following))

    def _memories(self, found: Iterable[edge.Record]) -> list[Memory]:
        return points.memories(((point.id, point.payload) for point in found), self.unreadable)

    def raw(self, limit: int, after: UUID | None = None, *, text_alone: bool = False) -> RawPage:
        request = edge.ScrollRequest(
            offset=after,
            limit=limit,
            with_payload=[points.WHOLE] if text_alone else True,
            with_vector=False if text_alone else [points.DENSE],
        )
        with no_panic(self._folder):
            found, following = self._shard.scroll(request)
        raw = [
            RawPoint(UUID(str(point.id)), dict(point.payload or {}), points.dense_of(point.vector)) for point in found
        ]
        return RawPage(raw, cast("UUID | None", following))

    def order_ids(self, where: Where, order: Order, limit: int) -> list[UUID]:
        sorting, chosen = _sorting(order), _matching(where)
        request = edge.ScrollRequest(limit=limit, filter=chosen, order_by=sorting, with_payload=False)
        with no_panic(self._folder):
            found, _ = self._shard.scroll(request)
        return [UUID(str(point.id)) for point in found]

    def note_credibility(self, noted: Mapping[UUID, float]) -> None:
        edge_folder.require_room(self._folder)
        with self._writing, no_panic(self._folder):
            for name in self._staying(list(noted)):
                self._shard.update(edge.UpdateOperation.set_payload([name], {points.CREDIBILITY: noted[name]}))

    def _staying(self, ids: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
        """Fields that stay with the memories of these ids that exist."""
        with no_panic(self._folder):
            found = self._shard.retrieve(list(ids), with_payload=points.STAYING, with_vector=False)
        return points.staying((point.id, point.payload) for point in found)

    def count(self, where: Where, by: CountKey = "pool") -> dict[str, int]:
        if by not in EXACT:
            return self._count(where, by)
        with self._writing:
            counts = self._kept().count(where, by)
        return self._count(where, by) if counts is None else counts

    def dense_of(self, ids: Sequence[UUID]) -> dict[UUID, NDArray[np.float32]]:
        with no_panic(self._folder):
            found = self._shard.retrieve(sorted(set(ids)), with_payload=False, with_vector=[points.DENSE])
        return {UUID(str(point.id)): dense for point in found if (dense := points.dense_of(point.vector)) is not None}

    def both_of(self, ids: Sequence[UUID]) -> dict[UUID, NDArray[np.float32]]:
        with no_panic(self._folder):
            found = self._shard.retrieve(sorted(set(ids)), with_payload=[points.MASKED], with_vector=[points.DENSE])
        return points.both_in((point.id, point.payload, point.vector) for point in found)

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
        limit = points.MAX_POOLS if by == "pool" else MOST_VALUES
        request = edge.FacetRequest(by, limit=limit, exact=by in EXACT, filter=_matching(where))
        with no_panic(self._folder):
            counted = self._shard.facet(request)
        return {str(hit.value): hit.count for hit in counted.hits if hit.count}

    def _kept(self) -> CountCache:
        if self._counts is None:
            statuses = get_args(Status)
            counted = {
                (pool, status): count
                for status in statuses
                for pool, count in self._count(Where(status=status)).items()
            }
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
                known = {str(point.id) for point in there}
                made = [point for point in made if str(point.id) in known]
            held = self._tally.now
            after = held and held.changed(map(_digest, there), map(_digest, made))
            if after is not None:
                self._tally.will_be(after)
            self._counts = None  # counted again where the write fails halfway
            self._forget(ids)
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
                self._forget(ids)
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
    return [
        (str(payload["pool"]), str(payload["status"])) for payload in kinds if "pool" in payload and "status" in payload
    ]


def vectors(given: Vectors) -> dict[str, edge.NamedVector]:
    return {points.DENSE: given.dense.tolist(), points.SPARSE: edge.SparseVector(*given.sparse)}


def _request(query: Query) -> edge.QueryRequest:
    """A search for ids and scores: what most memories say is known."""
    chosen = _matching(query.where)
    rankings: list[edge.Query] = []
    if query.dense is not None:
        rankings.append(edge.Query.Nearest(query.dense.tolist(), points.DENSE))
    if query.sparse is not None:
        rankings.append(edge.Query.Nearest(edge.SparseVector(*query.sparse), points.SPARSE))
    if not points.is_fused(query):
        return edge.QueryRequest(
            query.limit,
            query=rankings[0],
            filter=chosen,
            score_threshold=query.at_least,
            with_payload=False,
            with_vector=False,
        )
    return edge.QueryRequest(
        query.limit,
        query=cast("edge.Fusion", edge.Fusion.Rrf(points.RRF_K)),
        prefetches=[edge.Prefetch(points.depth(query.limit), query=ranking, filter=chosen) for ranking in rankings],
        with_payload=False,
        with_vector=[points.DENSE],
    )


def _sorting(order: Order | None) -> edge.OrderBy | None:
    if order is None:
        return None
    return edge.OrderBy(order.by, edge.Direction.Asc if order.ascending else edge.Direction.Desc)


def _matching(where: Where) -> edge.Filter:
    must: list[edge.ConditionType] = [
        edge.FieldCondition(key, match=edge.MatchAny(values)) for key, values in points.conditions(where)
    ]
    for key, low, high in points.ranges(where):
        span = edge.RangeFloat(gte=low, lt=high) if key == "created" else edge.RangeFloat(gte=low, lte=high)
        must.append(edge.FieldCondition(key, range=span))
    must += [edge.FieldCondition(points.WORDS, match=edge.MatchValue(mark)) for mark in points.wanted_marks(where)]
    if where.ids is not None:
        must.append(edge.HasIdCondition(set(where.ids)))
    if where.without_task:
        must.append(edge.IsEmptyCondition("task_id"))
    apart: list[edge.ConditionType] = []
    if where.ids_not:
        apart.append(edge.HasIdCondition(set(where.ids_not)))
    if where.submitter_not:
        apart.append(edge.FieldCondition("submitter", match=edge.MatchAny(list(where.submitter_not))))
    return edge.Filter(must=must, must_not=apart or None)
