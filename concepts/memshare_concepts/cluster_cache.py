"""Keeps which clusters were found for a pool: the next command need not find them again, and later ones begin there.

A file has numbers alone: no text, name or id of a memory. With them is a digest of all that the clusters follow from: a
pool that has changed in any way has its clusters found anew, from those that it had.
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
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np

from memshare_concepts.clusters import Clusters, Partition, described, memberships
from memshare_concepts.pool_graph import PoolConcepts

FOLDER = "clusters"  # of the data folder
KEPT = 24  # files that are kept: those used last. One of 10,000 memories has 80 kB, and 40 kB for each level

log = logging.getLogger(__name__)


def clusters_of(concepts: PoolConcepts, data: Path, size: int) -> Clusters:
    """The clusters of a pool that was loaded with its vectors; kept in the data folder until the pool changes."""
    return clusters_by_size(concepts, data, [size])[size]


def clusters_by_size(concepts: PoolConcepts, data: Path, sizes: Sequence[int]) -> dict[int, Clusters]:
    """The same for several sizes; those that are not kept are found together."""
    digest, known = _digest(concepts), [_short(memory.bytes) for memory in concepts.ids]
    name = f"{_short(concepts.pool.encode()):x}"
    files = {size: data / FOLDER / f"{name}-{size}.npz" for size in sizes}
    before = {size: stored for size, file in files.items() if (stored := _read(file)) is not None}
    found = {size: stored.clusters for size, stored in before.items() if stored.digest == digest}
    if missing := [size for size in sizes if size not in found]:
        start = {size: stored.of_memories(known) for size, stored in before.items()}
        new = memberships(concepts.graph, concepts.ids, concepts.vectors, missing, start)
        _keep({files[size]: _Stored(digest, known, clusters) for size, clusters in new.items()}, data / FOLDER)
        found |= new
    return {size: described(concepts.graph, concepts.ids, found[size].of) for size in sizes}


class _Stored(NamedTuple):
    """Contents of a file: the digest of the pool, a number for each memory, and its clusters."""

    digest: str
    known: list[int]
    clusters: Partition

    def of_memories(self, known: Sequence[int]) -> Partition:
        """The clusters of other memories; -1 where one is new."""
        place = {number: at for at, number in enumerate(self.known)}
        places = np.array([place.get(number, -1) for number in known], np.int64)
        of = np.append(self.clusters.of, np.full((len(self.clusters.of), 1), -1, np.int32), axis=1)
        return self.clusters._replace(of=of[:, places])


def _short(of: bytes) -> int:
    return int.from_bytes(blake2b(of, digest_size=8).digest())


def _digest(concepts: PoolConcepts) -> str:
    """Of the memories with their concepts and vectors, of the merges in force, and of what finds clusters."""
    memories = [[str(name), memory.concepts] for name, memory in concepts.memories.items()]
    merges = [[merge.of, merge.into] for merge in concepts.aliases.merges()]
    digest = blake2b(_algorithm(), digest_size=16)
    digest.update(json.dumps([memories, merges]).encode())
    digest.update(np.ascontiguousarray(concepts.vectors).data)
    return digest.hexdigest()


@cache
def _algorithm() -> bytes:
    """The program text of this package, which nobody can forget to count up, and the version of Leiden."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return b"\0".join([version("graspologic-native").encode(), *(file.read_bytes() for file in files)])


def _read(file: Path) -> _Stored | None:
    """Read a file; None where there is none, or it is damaged: clusters are found anew then."""
    try:
        with file.open("rb") as opened, np.load(opened) as held:
            known, of, resolutions = held["known"].tolist(), held["of"], held["resolutions"]
            digest = str(held["digest"])
        file.touch()
    except (OSError, ValueError, EOFError, KeyError, BadZipFile):
        return None
    return _Stored(digest, known, Partition(of, resolutions)) if of.shape == (len(resolutions), len(known)) else None


def _keep(new: dict[Path, _Stored], folder: Path) -> None:
    """Write files whole, and remove those that were used longest ago."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for file, stored in new.items():
            aside = folder / f".{file.name}.{os.getpid()}"
            with aside.open("wb") as written:
                np.savez(
                    written,
                    digest=np.array(stored.digest),
                    known=np.array(stored.known, np.uint64),
                    of=stored.clusters.of,
                    resolutions=stored.clusters.resolutions,
                )
            aside.replace(file)
        for old in sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime)[:-KEPT]:
            old.unlink(missing_ok=True)
    except OSError as error:
        log.warning("The clusters are not kept in %s: %s. The next command finds them again.", folder, error.strerror)
