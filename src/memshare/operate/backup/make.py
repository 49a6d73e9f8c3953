"""Makes a backup of a deployment that runs: pool, Redis, the user's agents and rubrics, as they are at one moment.

Passes go over the whole pool, by the door of its memory service, while others write; each brings the copy up to date.
The last one is made while nobody writes, and has little left to do. The keys of Redis are read while it lets nobody
write, so that they fit each other; reading goes on meanwhile. Messages on their way to a worker are left out: the
ledger has every open message, and the sweeper sends it again.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple
from uuid import UUID

import redis
from pydantic import JsonValue
from redis.client import NEVER_DECODE

from memshare.client.client import Client
from memshare.client.rest.calls.operating import LastBackup
from memshare.operate.backup.archive import (
    AGENTS,
    ALL,
    ENCODER,
    FORMAT,
    POOL,
    REDIS,
    Manifest,
    NewArchive,
    lasts,
    new_archive,
)
from memshare.operations.operating import note_backup
from memshare_broker.delivery.sweeper import beside
from memshare_broker.errors import BadInput, MemshareError, TryAgain
from memshare_broker.settings import Settings
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import LONGEST_PAGE, RawMemories, RawMemory, RawRequest
from memshare_memory.encoders.encoder import first_name, folder_of
from memshare_memory.memory import Memory
from memshare_memory.pool.owner import WriteGate

PAGE = 500  # memories with their vectors, some 2.5 kB each
FEW = 100  # changes that the last pass may find
MOST_PASSES = 10


class _Copied(NamedTuple):
    """The digest of a memory's text, and where its line is in the file."""

    digest: str
    place: int
    length: int


class PoolCopy:
    """A copy of a pool in a file that is read and written."""

    def __init__(self, memories: MemoryClient, file: IO[bytes]) -> None:
        self._memories = memories
        self._file = file
        self._copied: dict[str, _Copied] = {}
        self.encoder: str | None = None

    def __len__(self) -> int:
        return len(self._copied)

    def copy(self, progress: Callable[[int], None]) -> None:
        """Copy all there is, and go on until little changes; `progress` is told how many were copied."""
        after: UUID | None = None
        while True:
            page = self._ask(RawRequest(limit=PAGE, after=after))
            self._take(page)
            progress(page.seen)
            after = page.after
            if after is None:
                break
        for _ in range(MOST_PASSES):
            if self.catch_up() <= FEW:
                return

    def catch_up(self) -> int:
        """Bring the copy up to date; returns how many memories had changed."""
        seen: set[str] = set()
        changed: list[str] = []
        after: UUID | None = None
        while True:
            page = self._ask(RawRequest(limit=LONGEST_PAGE, after=after, only="digests"))
            seen |= page.digests.keys()
            changed += [one for one, digest in page.digests.items() if self._digest_of(one) != digest]
            after = page.after
            if after is None:
                break
        for one in changed:
            self._take(self._ask(RawRequest(limit=1, after=UUID(one))))
        gone = self._copied.keys() - seen
        for one in gone:
            del self._copied[one]
        return len(changed) + len(gone)

    def lines(self) -> Iterator[bytes]:
        """The memories in the order of their ids, one JSON text a line."""
        for _, one in sorted(self._copied.items()):
            self._file.seek(one.place)
            yield self._file.read(one.length)

    def _ask(self, request: RawRequest) -> RawMemories:
        page = self._memories.raw(request)
        if self.encoder not in (None, page.encoder):
            raise TryAgain("The pool has moved to another encoder meanwhile. Run this again.")
        self.encoder = page.encoder
        return page

    def _take(self, page: RawMemories) -> None:
        self._file.seek(0, 2)
        for one in page.memories:
            line = one.model_dump_json(exclude_none=True).encode() + b"\n"
            self._copied[str(one.id)] = _Copied(one.digest, self._file.tell(), len(line))
            self._file.write(line)

    def _digest_of(self, one: str) -> str | None:
        known = self._copied.get(one)
        return known.digest if known else None


class TooSlow(TryAgain):
    """Redis was read so slowly that writers may have been let go on."""


_PAUSE = 10.0  # seconds for which one call keeps writers waiting
_TRIES, _BETWEEN = 5, 5.0  # of reading Redis, and seconds in which what waited gets on
_RENEW_AFTER = 2.0  # seconds
_AT_ONCE = 500  # keys of a round trip
_ABSENT = -2  # what PTTL says of a key that is not there
_COMMANDS: dict[str, tuple[str, ...]] = {
    "string": ("GET",),
    "hash": ("HGETALL",),
    "list": ("LRANGE", "0", "-1"),
    "set": ("SMEMBERS",),
    "zset": ("ZRANGE", "0", "-1", "WITHSCORES"),
}


@contextmanager
def nobody_writes(client: redis.Redis) -> Iterator[Callable[[], None]]:
    """Keep every client of this Redis from writing while the block runs; it gets a sign of life to call now and then.

    Who wants to write waits meanwhile. It ends by itself where this process is killed. Raises `TooSlow` where it may
    have ended before the block did: what was read then may not fit together.
    """
    began: float | None = None

    def alive() -> None:
        nonlocal began
        now = time.monotonic()
        if began is not None and now - began > _PAUSE:
            raise TooSlow("Redis was read too slowly to keep writers waiting: nothing was saved. Run this again.")
        if began is None or now - began > _RENEW_AFTER:
            client.client_pause(round(_PAUSE * 1_000), all=False)
            began = now

    try:
        alive()
    except redis.ResponseError as error:
        raise MemshareError(
            f"Redis does not let this user pause writers ({error}), and so nothing that fits together can be read."
            " Allow it with ACL SETUSER NAME +client|pause +client|unpause."
        ) from error
    try:
        yield alive
        alive()
    finally:
        client.client_unpause()


def read_keys(client: redis.Redis, alive: Callable[[], None]) -> Iterator[str]:
    """Every key of the deployment as a `Kept`, in JSON. Nobody may write meanwhile."""
    for kind in _COMMANDS:
        keys = filter(lasts, map(str, client.scan_iter(ALL, count=5_000, _type=kind)))
        while batch := [*islice(keys, _AT_ONCE)]:
            alive()
            for line in _read_with_results(client, kind, batch):
                alive()
                yield line


def _read_with_results(client: redis.Redis, kind: str, keys: list[str]) -> Iterator[str]:
    yield from _read(client, kind, keys)
    yield from _read(client, "string", [one for key in keys for one in beside(key)])


def _read(client: redis.Redis, kind: str, keys: list[str]) -> Iterator[str]:
    command, *rest = _COMMANDS[kind]
    with client.pipeline(transaction=False) as ask:
        for key in keys:
            ask.pttl(key)
            ask.execute_command(command, key, *rest, **{NEVER_DECODE: True})  # type: ignore[no-untyped-call]
        replies = ask.execute()
    now = time.time() * 1_000
    for key, ttl, value in zip(keys, replies[::2], replies[1::2], strict=True):
        if ttl != _ABSENT:
            # By hand, as Redis waits; `Kept` reads it.
            saved = {
                "key": key,
                "type": kind,
                "expires": int(now + ttl) if ttl >= 0 else None,
                "value": _as_text(value),
            }
            yield json.dumps(saved, ensure_ascii=False)


def _as_text(value: Any) -> JsonValue:
    """A reply of Redis, as texts."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, float | int):
        return repr(float(value))
    nested = value.items() if isinstance(value, dict) else value
    parts = [part for one in nested for part in (one if isinstance(one, list | tuple) else [one])]
    return [_as_text(part) for part in parts]


Progress = Callable[[str, int], None]
"""Told what is done now, and how many more of its things are done."""


class Made(NamedTuple):
    """Contents of a backup, and the seconds for which nobody could write: to Redis, and to the pool."""

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
        redis_waited, pool_waited = read_as_one(direct, keys, pool, progress)
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


def read_as_one(direct: redis.Redis, keys: IO[bytes], pool: PoolCopy, progress: Progress) -> tuple[float, float]:
    """Write the keys of Redis to a file, and bring the copy of the pool up to date, of one moment.

    Where Redis is read too slowly it tries again, some times. Returns for how many seconds nobody could write to Redis,
    and to the pool.
    """
    for left in reversed(range(_TRIES)):
        try:
            return _read_as_one(direct, keys, pool)
        except TooSlow:
            if not left:
                raise
            progress(f"Redis was read too slowly; trying again, {left} times at most", 0)
            keys.seek(0)
            keys.truncate()
            time.sleep(_BETWEEN)
    raise AssertionError


def _read_as_one(direct: redis.Redis, keys: IO[bytes], pool: PoolCopy) -> tuple[float, float]:
    with WriteGate(direct).closed("A backup is being made") as still_closed:
        began = time.monotonic()
        with nobody_writes(direct) as alive:
            keys.writelines(line.encode() + b"\n" for line in read_keys(direct, alive))
        redis_waited = time.monotonic() - began
        pool.catch_up()
        still_closed()
        return redis_waited, time.monotonic() - began


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
