"""Rewrites the files of an embedded pool: the engine itself leaves what was deleted in its log and its payload files.

All that the pool holds is copied to a new engine beside the old one, which then takes its place. A process that ends
in between leaves one of the two whole, and the next one that opens the folder tidies up.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import cast

import qdrant_edge as edge

from memshare_broker.errors import Unreachable
from memshare_memory.stores.edge import edge_folder, edge_indexes, edge_requests
from memshare_memory.stores.edge.edge_opening import loaded
from memshare_memory.stores.store import Layout


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
    edge_indexes.build(target, folder)  # while it is empty, or it would take noted credibility for none
    for page in edge_requests.pages(shard, payload=True, vectors=True):
        copies = [edge.Point(one.id, cast("dict[str, edge.NamedVector]", one.vector), one.payload) for one in page]
        if copies:
            edge_folder.require_room(folder)
            target.update(edge.UpdateOperation.upsert_points(copies, None, edge.UpdateMode.Upsert))
    edge_indexes.build(target, folder)
    target.flush()
    target.close()
