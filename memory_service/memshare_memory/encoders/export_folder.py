"""An exported encoder on the disk: `encoder.onnx`, `tokenizer.json` and the settings that say what they should be."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, ValidationError

from memshare_memory.encoders.encoder import bundled_folder

log = logging.getLogger(__name__)

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
