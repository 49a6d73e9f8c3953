"""Keeps which clusters were found for a pool, so that the next command need not find them again.

A file has numbers alone: no text, name or id of a memory. Its name is a digest of all that the clusters follow from, so
a pool that has changed in any way has none.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memshare_concepts.clusters.cluster import Clusters, described
from memshare_concepts.clusters.clustering import memberships
from memshare_concepts.pool_graph import PoolConcepts

FOLDER = "clusters"
"""Of the data folder."""

KEPT = 24
"""Files that are kept: those used last. One of 10,000 memories has 40 kB for each level."""

log = logging.getLogger(__name__)


def clusters_of(concepts: PoolConcepts, data: Path, size: int) -> Clusters:
    """The clusters of a pool that was loaded with its vectors; kept in the data folder until the pool changes."""
    return clusters_by_size(concepts, data, [size])[size]


def clusters_by_size(concepts: PoolConcepts, data: Path, sizes: Sequence[int]) -> dict[int, Clusters]:
    """The same for several sizes; those that are not kept are found together."""
    digest = _digest(concepts)
    files = {size: data / FOLDER / f"{digest}-{size}.npy" for size in sizes}
    found = {size: kept for size, file in files.items() if (kept := _read(file, len(concepts.ids))) is not None}
    if missing := [size for size in sizes if size not in found]:
        new = memberships(concepts.graph, concepts.ids, concepts.vectors, missing)
        _keep({files[size]: of for size, of in new.items()}, data / FOLDER)
        found |= new
    return {size: described(concepts.graph, concepts.ids, found[size]) for size in sizes}


def _digest(concepts: PoolConcepts) -> str:
    """Of the memories with their concepts and vectors, of the merges in force, and of what finds clusters."""
    memories = [[str(one), memory.concepts] for one, memory in concepts.memories.items()]
    merges = [[merge.of, merge.into] for merge in concepts.aliases.merges()]
    digest = blake2b(_algorithm(), digest_size=16)
    digest.update(json.dumps([memories, merges]).encode())
    digest.update(np.ascontiguousarray(concepts.vectors).data)
    return digest.hexdigest()


@cache
def _algorithm() -> bytes:
    """The program text of this package, which nobody can forget to count up, and the version of Leiden."""
    files = sorted(Path(__file__).parents[1].rglob("*.py"))
    return b"\0".join([version("graspologic-native").encode(), *(file.read_bytes() for file in files)])


def _read(file: Path, memories: int) -> NDArray[np.int32] | None:
    """The clusters in a file; None where there is none, or it is damaged: they are found again then."""
    try:
        of: NDArray[np.int32] = np.load(file)
        file.touch()
    except (OSError, ValueError, EOFError):
        return None
    return of if of.ndim == 2 and of.shape[1] == memories else None


def _keep(new: dict[Path, NDArray[np.int32]], folder: Path) -> None:
    """Write files whole, and remove those that were used longest ago."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for file, of in new.items():
            aside = folder / f".{file.name}.{os.getpid()}"
            with aside.open("wb") as written:
                np.save(written, of)
            aside.replace(file)
        for old in sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime)[:-KEPT]:
            old.unlink(missing_ok=True)
    except OSError as error:
        log.warning("The clusters are not kept in %s: %s. The next command finds them again.", folder, error.strerror)
