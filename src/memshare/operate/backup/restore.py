"""Restores a deployment from a backup while nothing of it runs: all of it, or nothing that would be used.

The new pool is made beside the old one. From the first change to the last a mark stands in Redis, without which nothing
starts; so a restore that was broken off is run again, and begins anew. Messages that were open are sent by the first
sweep: none is on its way to a worker any more.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import redis
from pydantic import ValidationError

from memshare.operate.backup.archive import AGENTS, ALL, ENCODER, POOL, REDIS, Archive, SavedKey, is_of_use
from memshare.operate.backup.make import Progress
from memshare.operate.supervisor import environment_of
from memshare.operations.caller import TOKENS
from memshare.operations.operating import LAST_BACKUP
from memshare_broker.child_processes import python
from memshare_broker.delivery.sweeper import beside, on_their_way, reopen
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.presence import present
from memshare_broker.settings import Settings
from memshare_broker.wire.signing import Signer, open_signer
from memshare_memory.encoders.encoder import first_name, folder_of, origin_of
from memshare_memory.pool.known_pools import RESTORING, Refilled, RefillJob
from memshare_memory.stores import data_folder

_AT_ONCE = 500  # keys of a round trip
_PAIRS = 1_000  # of a hash or a sorted set in one command


def write_keys(
    client: redis.Redis,
    lines: Iterable[str],
    signer: Signer | None,
    progress: Callable[[], None],
    *,
    tokens: bool = False,
) -> int:
    """Write keys; open messages get the signature of this deployment where they had that of another.

    Without `tokens` those of the doors stay as they are here; returns how many were left out.
    """
    left_out = 0
    with client.pipeline(transaction=False) as change:
        for number, line in enumerate(lines):
            saved = SavedKey.model_validate_json(line)
            if saved.key == TOKENS and not tokens:
                left_out = len(saved.pairs)
            else:
                _write(change, saved)
            if number % _AT_ONCE == 0:
                change.execute()
            progress()
        change.execute()
    reopen(client, signer)
    return left_out


def remove_keys(client: redis.Redis, *, tokens: bool = False) -> None:
    """Remove all that a deployment keeps in this Redis, and its messages on their way; its tokens only if wanted.

    When its last backup was made stays: that is there still, whatever is restored.
    """
    gone = on_their_way(client)
    for name in client.scan_iter(ALL, count=1_000):
        key = str(name)
        if key not in (RESTORING, LAST_BACKUP) and (tokens or key != TOKENS):
            gone.append(key)
        gone += beside(key)
    for start in range(0, len(gone), _AT_ONCE):
        client.unlink(*gone[start : start + _AT_ONCE])


def is_used(client: redis.Redis) -> bool:
    """True if a deployment has anything in this Redis that would be lost."""
    return any(is_of_use(str(key)) for key in client.scan_iter(ALL, count=1_000))


def _write(change: redis.client.Pipeline, saved: SavedKey) -> None:
    values = [text.encode("latin-1") for text in saved.texts]
    for start in range(0, len(values), 2 * _PAIRS):
        some = values[start : start + 2 * _PAIRS]
        if saved.type == "string":
            change.set(saved.key, some[0])
        elif saved.type == "list":
            change.rpush(saved.key, *some)
        elif saved.type == "set":
            change.sadd(saved.key, *some)
        elif saved.type == "hash":
            change.hset(saved.key, items=some)
        else:
            change.zadd(saved.key, dict(zip(some[::2], map(float, some[1::2]), strict=True)))
    if saved.expires is not None:
        change.pexpireat(saved.key, saved.expires)


class RestoredDeployment(NamedTuple):
    """Result of a restore; `aside` is the folder of the pool that was there before, and of the files `overwritten`.

    `tokens_left_out` counts the backup's tokens, where they were not wanted.
    """

    memories: int
    left_out: int
    keys: int
    agents: list[str]
    aside: Path | None
    tokens_left_out: int
    overwritten: list[str]


def restore(
    settings: Settings,
    client: redis.Redis,
    archive: Archive,
    file: Path,
    progress: Progress,
    *,
    replace: bool,
    tokens: bool = False,
) -> RestoredDeployment:
    """Restore everything. Raises `BadInput`, with nothing changed, where it does not fit or would replace something.

    Without `tokens` those of the doors stay as they are: one that was revoked since must not come back.
    """
    manifest = archive.manifest
    _require_fitting(settings, client, archive, replace=replace)
    signer = open_signer(settings)
    embedded = settings.pool_is_embedded
    job = RefillJob(encoder=manifest.encoder, folder=None, replace=True)
    data_folder.remove_left(settings.data)
    fresh = data_folder.fresh_folder(settings.data) if embedded and manifest.memories else None
    aside = data_folder.aside_folder(settings.data)
    filled = Refilled()
    try:
        if fresh is not None:
            filled = _refill(settings, archive, job.model_copy(update={"folder": str(fresh)}), progress)
        client.set(RESTORING, str(file.absolute()))
        if not embedded and manifest.memories:
            filled = _refill(settings, archive, job, progress)
        remove_keys(client, tokens=tokens)
        wrote = partial(progress, "Writing to Redis", 1)
        tokens_left_out = write_keys(client, archive.lines(REDIS), signer, wrote, tokens=tokens)
        if embedded:
            data_folder.replace_pool(settings.data, fresh, aside)
        for name in archive.names(ENCODER):
            archive.unpack(name, folder_of(settings, manifest.encoder) / name.removeprefix(ENCODER))
        changed = overwritten(settings, archive)
        agents = _agents(settings, archive, aside)
        client.delete(RESTORING)
    finally:
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)
    kept = aside if aside.is_dir() else None
    return RestoredDeployment(
        filled.written, filled.left_out, manifest.keys, agents, kept, tokens_left_out, [str(file) for file in changed]
    )


def agents_folder(settings: Settings) -> Path:
    """Where the agents and rubrics of a backup go."""
    return settings.agents_dir or settings.data / "agents"


def _require_fitting(settings: Settings, client: redis.Redis, archive: Archive, *, replace: bool) -> None:
    manifest = archive.manifest
    if origin_of(manifest.encoder) != first_name(settings):
        raise BadInput(
            f"The backup has vectors of the encoder {manifest.encoder!r}, and MEMSHARE_ENCODER names"
            f" {first_name(settings)!r}: set it to {origin_of(manifest.encoder)!r}."
        )
    if workers := present(client):
        names = ", ".join(sorted(worker.node for worker in workers))
        raise BadInput(
            f"Workers of this deployment are there ({names}): end them first. One that was killed is there for another"
            " 20 s."
        )
    data_folder.require_closed(settings.data)
    _require_room_for_agents(settings, archive)
    if replace or client.exists(RESTORING):
        return
    if is_used(client) or not data_folder.is_empty(settings.data):
        raise BadInput(
            "This deployment has memories or tasks of its own. Restore into an empty one, or give --replace to put the"
            " backup in the place of what is there."
        )
    for file in overwritten(settings, archive):
        raise BadInput(f"{str(file)!r} differs from the one of the backup: move it, or give --replace.")


def _refill(settings: Settings, archive: Archive, job: RefillJob, progress: Progress) -> Refilled:
    command = python("-m", "memshare_memory.pool.refill", job.model_dump_json())
    process = subprocess.Popen(
        command, env=environment_of(settings), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with process:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has said why
            for line in archive.lines(POOL):
                process.stdin.write(line.encode())
                progress("Writing the pool", 1)
        said, _ = process.communicate()
    try:
        done = Refilled.model_validate_json(said)
    except ValidationError:
        raise MemshareError(f"The pool could not be written: its process ended with {process.returncode}.") from None
    if done.error is not None:
        raise BadInput(done.error)
    if done.written + done.left_out != archive.manifest.memories:
        raise MemshareError(f"Of {archive.manifest.memories} memories {done.written} were written. Run this again.")
    return done


def overwritten(settings: Settings, archive: Archive) -> list[Path]:
    """The files of agents and rubrics that a restore puts those of the backup in the place of."""
    return [file for _, file in _other_agents(settings, archive) if file.exists()]


def _agents(settings: Settings, archive: Archive, aside: Path) -> list[str]:
    """Write the user's agents and rubrics where they are not there already, and keep what is overwritten in `agents` of
    the folder `aside`; returns the files of all."""
    for name, file in _other_agents(settings, archive):
        if file.exists():
            (aside / "agents").mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, aside / "agents")
        archive.unpack(name, file)
    return [str(agents_folder(settings) / name.removeprefix(AGENTS)) for name in archive.names(AGENTS)]


def _other_agents(settings: Settings, archive: Archive) -> list[tuple[str, Path]]:
    """The agents and rubrics of the backup that are not in their folder as they were."""
    named = [(name, agents_folder(settings) / name.removeprefix(AGENTS)) for name in archive.names(AGENTS)]
    return [(name, file) for name, file in named if not file.exists() or file.read_bytes() != archive.read(name)]


def _require_room_for_agents(settings: Settings, archive: Archive) -> None:
    """Raise `BadInput` where agents are to be written to a folder that takes none, such as one of a container."""
    if not (others := _other_agents(settings, archive)):
        return
    folder = agents_folder(settings)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        names = ", ".join(file.name for _, file in others)
        raise BadInput(
            f"The backup has agents that are not in {str(folder)!r} ({names}), and that folder cannot be written:"
            f" {error.strerror}. Take them out of agents/ of the backup, put them there, and restore again."
        ) from error
