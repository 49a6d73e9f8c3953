"""Damage to the files of a pool: bytes that flip, files that are cut, gone, swapped or overwritten."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import numpy as np

KINDS = ("flip", "flip", "flip", "cut", "delete", "swap", "garbage", "zeros")
_LENGTH = 64  # bytes that are overwritten at once


class Harm(NamedTuple):
    """What was damaged, in words, and what the files were."""

    what: str
    before: dict[Path, bytes]

    def undo(self) -> None:
        for path, content in self.before.items():
            _write(path, content)


def harm(folder: Path, chance: random.Random) -> Harm:
    """Damage one thing below a folder; it always changes something."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    file, content = _one_of(files, chance)
    kind = chance.choice(KINDS)
    name = f"{kind} {file.relative_to(folder)}"
    if kind == "swap":
        other, another = _one_of(files, chance, but=content)
        _write(file, another)
        _write(other, content)
        return Harm(f"{name} with {other.relative_to(folder)}", {file: content, other: another})
    if kind == "delete":
        file.unlink()
    elif kind == "cut":
        _write(file, content[: chance.randrange(len(content))])
    else:
        place = int(chance.choice(np.flatnonzero(np.frombuffer(content, np.uint8))))
        with file.open("r+b") as opened:
            opened.seek(place)
            opened.write(_other(content[place : place + _LENGTH], kind, chance))
    return Harm(name, {file: content})


def _one_of(files: list[Path], chance: random.Random, but: bytes = b"") -> tuple[Path, bytes]:
    """A file that is not all zeros, and what is in it."""
    while True:
        file = chance.choice(files)
        content = file.read_bytes()
        if content.strip(b"\0") and content != but:
            return file, content


def _write(path: Path, content: bytes) -> None:
    """Write a file with a hole at its end in place of zeros, which most of the engine's files are."""
    with path.open("wb") as file:
        file.write(content.rstrip(b"\0"))
        file.truncate(len(content))


def _other(part: bytes, kind: str, chance: random.Random) -> bytes:
    """Other bytes of the same length; the first one of the part is not 0."""
    if kind == "zeros":
        return bytes(len(part))
    if kind == "garbage":
        return bytes([part[0] ^ 255]) + chance.randbytes(len(part) - 1)
    return bytes([part[0] ^ 1 << chance.randrange(8)]) + part[1:]
