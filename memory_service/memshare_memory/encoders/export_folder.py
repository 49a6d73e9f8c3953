"""Exported encoders on the disk: `encoder.onnx`, `tokenizer.json`, and settings that say what they should be.

An export that is missing is made by a process of its own, so that torch is gone when that ends.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, ValidationError

from memshare_broker.child_processes import ends_with_parent, python
from memshare_broker.errors import BadInput, MemshareError
from memshare_memory.encoders.encoder import BUNDLED, bundled_folder
from memshare_memory.encoders.sentence_encoder import cannot_be_loaded

FORMAT = 1  # goes up when an export of the same model would come out different
GRAPH, TOKENIZER, SETTINGS = "encoder.onnx", "tokenizer.json", "settings.json"


class ExportSettings(BaseModel):
    """Settings of an export: each file with its SHA-256, the length of a vector, and the prompt before every text.

    `refused` says why a model cannot be exported; there are no files then.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dimension: int = 0
    prompt: str = ""
    files: dict[str, str] = {}
    refused: str | None = None


@dataclass(frozen=True)
class Export:
    """An export that is whole."""

    folder: Path
    settings: ExportSettings


def export_folder(path: str | None, exports: Path) -> Path:
    """Where the export of a model folder, of a name of the model hub, or of the bundled model for none belongs.

    A folder's goes by its content. A name's goes by the name, so that it stays at the revision that was exported: the
    vectors of a pool are of that one.
    """
    folder = Path(path) if path else bundled_folder()
    if folder.is_dir():
        return exports / _content_hash(folder)
    return exports / f"hub-{quote(str(path), safe='')}-{FORMAT}"


def read_export(folder: Path) -> Export | None:
    """The export of a folder, or None where there is none or one that is damaged."""
    try:
        text = (folder / SETTINGS).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        settings = ExportSettings.model_validate_json(text)
        wrong = [name for name, digest in settings.files.items() if file_hash(folder / name) != digest]
    except (ValidationError, FileNotFoundError) as error:
        log.warning("The exported encoder in %s is damaged: %s", folder, error)
        return None
    if wrong:
        log.warning("The exported encoder in %s is damaged: %s changed since it was written.", folder, ", ".join(wrong))
        return None
    return Export(folder, settings)


def file_hash(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _content_hash(folder: Path) -> str:
    """A hash of all files of a model with their names, but for hidden ones, which are no part of it."""
    digest = hashlib.sha256(f"export {FORMAT}".encode())
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder)
        if file.is_file() and not any(part.startswith(".") for part in name.parts):
            digest.update(f"\n{file_hash(file)} {name.as_posix()}".encode())
    return digest.hexdigest()[:32]


log = logging.getLogger(__name__)

UNLOADABLE = 3  # the exit code of a process that could not load the model, and has written why
LONGEST_EXPORT = 1_800.0  # seconds: a large model may have to be downloaded
_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", re.ASCII)


def exported(path: str | None, name: str | None, exports: Path) -> Export:
    """The export of a model, made if need be; `path` and `name` are as `open_model` takes them.

    Raises `BadInput` for a model that cannot be loaded, and `MemshareError` when the process failed in another way.
    """
    if path is not None and not Path(path).is_dir() and not _HUB_NAME.fullmatch(path):
        raise cannot_be_loaded(path, name, "there is no such folder")
    folder = export_folder(path, exports)
    found = read_export(folder)
    if found is None and find_spec("torch") is None:
        raise BadInput(
            f"The encoder {name or path or BUNDLED!r} has no export in {str(exports)!r}, and there is no torch to make"
            " one: pip install 'memshare[memory]', or name a folder that has it in MEMSHARE_EXPORTS."
        )
    if found is None:
        # A warning: a worker that is being built shows nothing less.
        log.warning("Exporting the encoder %s, once: this takes seconds to minutes.", name or path or BUNDLED)
        _run_export(path, name, folder)
        found = read_export(folder)
    if found is None:
        raise MemshareError(f"The exported encoder in {str(folder)!r} was damaged as soon as it was written.")
    return found


def _run_export(path: str | None, name: str | None, folder: Path) -> None:
    command = python("-m", "memshare_memory.encoders.export", path or "", name or "", str(folder))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(place for place in sys.path if place)}
    about = name or path or BUNDLED
    try:
        done = subprocess.run(
            command,
            env=environment,
            preexec_fn=ends_with_parent(signal.SIGKILL),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST_EXPORT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise MemshareError(f"Exporting the encoder {about!r} took longer than {LONGEST_EXPORT:.0f} s.") from error
    if done.returncode == UNLOADABLE:
        raise BadInput(done.stdout.strip())
    if done.returncode:
        log.error("The process that exports the encoder %s wrote:\n%s", about, done.stderr.strip())
        last = (done.stderr.strip().splitlines() or ["it wrote nothing"])[-1]
        ended = f"exit code {done.returncode}" if done.returncode > 0 else f"signal {-done.returncode}"
        raise MemshareError(
            f"The encoder {about!r} could not be exported to {str(folder)!r}: its process ended with {ended}, after:"
            f" {last}"
        )
