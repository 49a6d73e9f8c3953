"""The file of a backup: a zip of parts, and a manifest that says what each must be.

`pool.jsonl` has the memories, `redis.jsonl` the keys, `agents/` the user's agents and rubrics, `encoder/` the encoder
that consolidation wrote, if it has.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from pydantic import JsonValue, ValidationError

from memshare.files.new_file import FOR_ITS_OWNER, new_binary_file
from memshare.operations.caller import TOKENS
from memshare.operations.operating import LAST_BACKUP
from memshare_broker.delivery.sweeper import FLEETING
from memshare_broker.errors import BadInput
from memshare_broker.presence import INCARNATIONS_THERE, PREFIX
from memshare_broker.wire.messages import Message
from memshare_memory.encoders.encoder import BEFORE
from memshare_memory.pool.known_pools import RESTORING
from memshare_memory.pool.owner import OWNER

ALL = "memshare:*"
_FLEETING = (
    *FLEETING, PREFIX, INCARNATIONS_THERE, "memshare:gate:", "memshare:settle:", OWNER, "memshare:index:",
    "memshare:rate", "memshare:usage:writer:", BEFORE, RESTORING, "memshare:session:", LAST_BACKUP,
    "memshare:calls", "memshare:job:",
)  # fmt: skip
_LEASE = ":lease"
_OF_A_START = (TOKENS, "memshare:encoder", "memshare:pools", "memshare:queues", "memshare:metrics")


class SavedKey(Message):
    """A Redis key; a byte is written as the character of its number. `expires` is Unix time in milliseconds.

    The value is one text, or a list of texts; the pairs of a hash or a sorted set follow one another.
    """

    key: str
    type: str
    expires: int | None
    value: JsonValue

    @property
    def texts(self) -> list[str]:
        return [str(one) for one in self.value] if isinstance(self.value, list) else [str(self.value)]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        texts = self.texts
        return list(zip(texts[::2], texts[1::2], strict=True))


def lasts(key: str) -> bool:
    """True if a key lasts for longer than a moment: not presence, a lock, or the place of a message on its way."""
    return not key.startswith(_FLEETING) and not key.endswith(_LEASE)


def is_of_use(key: str) -> bool:
    """True if a key says that a deployment was used; some keys are there as soon as it has been started."""
    return lasts(key) and not key.startswith(_OF_A_START)


FORMAT = 1
POOL, REDIS = "pool.jsonl", "redis.jsonl"
AGENTS, ENCODER = "agents/", "encoder/"
_MANIFEST = "manifest.json"
_CHUNK = 2**20


class ArchivePart(Message):
    """A file of the archive."""

    sha256: str
    lines: int


class Manifest(Message):
    """Contents of a backup, and the checksum and number of lines that each of its parts must have."""

    format: int
    made: float
    encoder: str
    memories: int
    by_pool: dict[str, int]
    keys: int
    parts: dict[str, ArchivePart]


class NewArchive:
    """A backup that is being written; it appears under its name when it is whole."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        self.parts: dict[str, ArchivePart] = {}

    def add(self, name: str, chunks: Iterable[bytes]) -> ArchivePart:
        """Write a part."""
        digest, lines = hashlib.sha256(), 0
        with self._zip.open(name, "w", force_zip64=True) as part:
            for chunk in chunks:
                part.write(chunk)
                digest.update(chunk)
                lines += chunk.count(b"\n")
        self.parts[name] = ArchivePart(sha256=digest.hexdigest(), lines=lines)
        return self.parts[name]

    def add_folder(self, prefix: str, folder: Path, pattern: str) -> None:
        """Write every file below a folder whose name fits the pattern."""
        for path in sorted(path for path in folder.rglob(pattern) if path.is_file()):
            self.add(f"{prefix}{path.relative_to(folder).as_posix()}", _chunks(path))

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, which makes it a backup."""
        self._zip.writestr(_MANIFEST, manifest.model_dump_json(indent=1))

    def close(self) -> None:
        self._zip.close()


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


@contextlib.contextmanager
def new_archive(path: Path) -> Iterator[NewArchive]:
    """Write a backup, for its owner alone; nothing is left of one that fails."""
    with new_binary_file(path, FOR_ITS_OWNER) as file, contextlib.closing(NewArchive(file)) as archive:
        yield archive


class Archive:
    """A backup that was looked through and is whole."""

    def __init__(self, zipped: zipfile.ZipFile, manifest: Manifest) -> None:
        self._zip = zipped
        self.manifest = manifest

    def lines(self, name: str) -> Iterator[str]:
        """The lines of a part, one JSON text each."""
        with self._zip.open(name) as part:
            for line in part:
                yield line.decode()

    def names(self, prefix: str) -> list[str]:
        """The parts below a folder of the archive."""
        return sorted(name for name in self.manifest.parts if name.startswith(prefix))

    def read(self, name: str) -> bytes:
        return self._zip.read(name)

    def unpack(self, name: str, to: Path) -> None:
        """Write one part to a file, for its owner alone."""
        to.parent.mkdir(parents=True, exist_ok=True)
        with (
            self._zip.open(name) as part,
            os.fdopen(os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out,
        ):
            shutil.copyfileobj(part, out, _CHUNK)


@contextlib.contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Read a backup, after every part of it was found to be what the manifest says; raises `BadInput`."""
    if path.is_dir():
        raise BadInput(f"{str(path)!r} is a folder: name the file in it, such as memshare-20261122-090000.zip.")
    if not path.exists():
        raise BadInput(f"{str(path)!r} is not there.")
    try:
        zipped = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise BadInput(f"{str(path)!r} is no backup, or not a whole one: {error}.") from error
    with zipped:
        if _MANIFEST not in zipped.namelist():
            raise BadInput(f"{str(path)!r} is no backup of memshare: expected a file that `memshare backup` wrote.")
        try:
            manifest = Manifest.model_validate_json(zipped.read(_MANIFEST))
            if manifest.format != FORMAT:
                raise BadInput(
                    f"{str(path)!r} has the format {manifest.format}, and this version of memshare reads {FORMAT}: use"
                    " the version that wrote it."
                )
            _verify(path, zipped, manifest)
        except (OSError, KeyError, ValidationError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
            raise BadInput(f"{str(path)!r} is damaged, and nothing was restored: {error}.") from error
        yield Archive(zipped, manifest)


def _verify(path: Path, zipped: zipfile.ZipFile, manifest: Manifest) -> None:
    there = {name for name in zipped.namelist() if name != _MANIFEST}
    wrong = sorted(there ^ manifest.parts.keys())
    if wrong or {POOL, REDIS} - there:
        raise BadInput(f"{str(path)!r} is damaged, and nothing was restored: the part {wrong[:1] or POOL!r} is amiss.")
    for name, expected in manifest.parts.items():
        if name.startswith("/") or ".." in PurePosixPath(name).parts:
            raise BadInput(f"{str(path)!r} is refused: its part {name!r} leads out of the folder that it belongs to.")
        digest = hashlib.sha256()
        with zipped.open(name) as part:
            while chunk := part.read(_CHUNK):
                digest.update(chunk)
        if digest.hexdigest() != expected.sha256:
            raise BadInput(f"{str(path)!r} is damaged, and nothing was restored: its part {name!r} has changed.")
