"""Makes a backup of a deployment that runs: pool, Redis, the user's agents and rubrics, as they are at one moment."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import redis

from memshare.client.client import Client
from memshare.client.last_backup import LastBackup, note_backup
from memshare.operate.backup.archive import AGENTS, ENCODER, FORMAT, POOL, REDIS, Manifest, NewArchive, new_archive
from memshare.operate.backup.pool_copy import PoolCopy
from memshare.operate.backup.read_redis import nobody_writes, read_keys
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_memory.door.messages import RawMemory
from memshare_memory.memory import Memory
from memshare_memory.pool.encoder_names import first_name, folder_of
from memshare_memory.pool.write_gate import WriteGate

Progress = Callable[[str, int], None]
"""Told what is done now, and how many more of its things are done."""


class Made(NamedTuple):
    """What a backup has, and for how many seconds nobody could write: to Redis, and to the pool."""

    manifest: Manifest
    redis_waited: float
    pool_waited: float


def make(client: Client, direct: redis.Redis, file: Path, progress: Progress, by: str) -> Made:
    """Write a backup to a file that is not there yet, and note it; raises `TryAgain` where no memory service answers.

    `by` is who makes it.
    """
    settings = client.settings
    if file.exists():
        raise BadInput(f"{str(file)!r} is there already: give the backup another name.")
    with (
        new_archive(file) as archive,
        tempfile.TemporaryFile(dir=file.parent) as spool,
        tempfile.TemporaryFile(dir=file.parent) as keys,
    ):
        pool = PoolCopy(client.memories, spool)
        pool.copy(lambda copied: progress("Copying the pool", copied))
        with WriteGate(direct).closed() as still_closed:
            began = time.monotonic()
            with nobody_writes(direct) as alive:
                keys.writelines(line.encode() + b"\n" for line in read_keys(direct, alive))
            redis_waited = time.monotonic() - began
            pool.catch_up()
            pool_waited = time.monotonic() - began
            still_closed()
        keys.seek(0)
        by_pool: Counter[str] = Counter()
        count = archive.add(REDIS, _told(keys, "Packing", progress)).lines
        archive.add(POOL, _counted(_told(pool.lines(), "Packing", progress), by_pool))
        encoder = pool.encoder or first_name(settings)
        _add_files(archive, settings, encoder)
        manifest = Manifest(
            format=FORMAT,
            made=time.time(),
            encoder=encoder,
            memories=len(pool),
            by_pool=by_pool,
            keys=count,
            parts=archive.parts,
        )
        archive.finish(manifest)
    size = file.stat().st_size
    note_backup(direct, LastBackup(at=manifest.made, by=by, file=str(file.resolve()), size=size, memories=len(pool)))
    return Made(manifest, redis_waited, pool_waited)


def _told(lines: Iterable[bytes], what: str, progress: Progress) -> Iterator[bytes]:
    for line in lines:
        yield line
        progress(what, 1)


def _counted(lines: Iterable[bytes], by_pool: Counter[str]) -> Iterator[bytes]:
    """The lines of the pool, while the memories of each pool are counted; one that cannot be read counts for none."""
    for line in lines:
        text = RawMemory.model_validate_json(line).text
        if text is not None:
            by_pool[Memory.model_validate_json(text).pool] += 1
        yield line


def _add_files(archive: NewArchive, settings: Settings, encoder: str) -> None:
    """The user's agents and rubrics, and the encoder where it is one that consolidation wrote."""
    if settings.agents_dir is not None:
        archive.add_folder(AGENTS, settings.agents_dir, "*.toml")
    if encoder != first_name(settings):
        folder = folder_of(settings, encoder)
        if not folder.is_dir():
            raise BadInput(
                f"The pool's encoder {encoder!r} is not in {str(settings.encoders_dir)!r}, and a backup without it is"
                " of no use. Run this on the machine that consolidated, or give MEMSHARE_ENCODERS a copy of its folder."
            )
        archive.add_folder(ENCODER, folder, "*")
