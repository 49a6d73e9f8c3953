"""The encoder on a processor, by ONNX Runtime and tokenizers alone, without torch; and its exports on the disk.

An export is `encoder.onnx`, `tokenizer.json`, and settings that say what they should be. A missing one is made by a
process of its own (`memshare_memory.encoders.export`), so that torch is gone when that ends.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from memshare_broker.child_processes import ends_with_parent, python
from memshare_broker.errors import BadInput, MemshareError
from memshare_memory.encoders.encoder import BUNDLED, UNLIMITED, bundled_folder
from memshare_memory.encoders.sentence_encoder import cannot_be_loaded

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


log = logging.getLogger(__name__)

# Padded tokens of one batch. More are no faster: 512 of them, with what is computed from them, fit into a cache.
LARGEST_BATCH = 512
SMALLEST_BATCH = 128  # and fewer pay more for reading the weights
MOST_THREADS = 4
TOKENIZED_AT_ONCE = 1_024


class OnnxEncoder:
    """An exported model. Each batch is one thread's work, and the batches of one call are shared among a few.

    Measured: a second thread within a batch makes one short text 1.4 times as fast for 1.3 times the CPU time or more.
    """

    def __init__(self, export: Export, name: str) -> None:
        self.name = name
        self.dimension = export.settings.dimension
        self._prompt = export.settings.prompt
        self._tokenizer = _open_tokenizer(export.folder / TOKENIZER)
        self.window = int((self._tokenizer.truncation or {}).get("max_length", UNLIMITED))
        """Tokens that it reads of a text."""
        self._padding: dict[str, Any] = self._tokenizer.padding or {}
        self._tokenizer.no_padding()  # here it is done by batch
        self._session = _open_session(export.folder / GRAPH)
        self._inputs = {tensor.name for tensor in self._session.get_inputs()}
        self._threads = min(MOST_THREADS, max(1, processors() // 2))  # the others are for what asks

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), TOKENIZED_AT_ONCE):
            some = texts[start : start + TOKENIZED_AT_ONCE]
            self._encode(some, vectors[start : start + len(some)])
        return vectors

    def _encode(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        tokenized = self._tokenizer.encode_batch_fast([self._prompt + text for text in texts])

        def run(batch: list[int]) -> None:
            vectors[batch] = self._run([tokenized[at] for at in batch])

        all_batches = list(batches([len(text) for text in tokenized], self._threads))
        if self._threads == 1 or len(all_batches) == 1:
            for batch in all_batches:
                run(batch)
            return
        # Threads of this call alone: a short text of somebody else never waits for a turn behind an import.
        with ThreadPoolExecutor(self._threads) as threads:
            list(threads.map(run, all_batches))

    def _run(self, tokenized: Sequence[Encoding]) -> NDArray[np.float32]:
        width = max(1, *(len(text) for text in tokenized))
        shape = (len(tokenized), width)
        ids = np.full(shape, self._padding["pad_id"], dtype=np.int64)
        types = np.full(shape, self._padding["pad_type_id"], dtype=np.int64)
        mask = np.zeros(shape, dtype=np.int64)
        for row, text in enumerate(tokenized):
            length = len(text)
            place = slice(width - length, width) if self._padding["direction"] == "left" else slice(length)
            ids[row, place], types[row, place], mask[row, place] = text.ids, text.type_ids, 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        [vectors] = self._session.run(None, {name: given[name] for name in self._inputs})
        return np.asarray(vectors, dtype=np.float32)


def batches(lengths: Sequence[int], threads: int) -> Iterator[list[int]]:
    """Places of texts of so many tokens, in batches that waste little on padding; the longest texts come first.

    A few texts make as many batches as there are threads, unless those would be small.
    """
    most = min(LARGEST_BATCH, max(SMALLEST_BATCH, -(-sum(lengths) // threads)))
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if batch and lengths[batch[0]] * (len(batch) + 1) > most:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _open_session(file: Path) -> Any:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # it would keep an id of this device, and look a host up
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # it keeps memory for every shape that it has seen
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def _open_tokenizer(file: Path) -> Tokenizer:
    # Its threads make nothing faster that a forward pass follows, and it warns of them after every fork.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(file))


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
            " one: pip install '.[memory]' where memshare was cloned, or name a folder that has it in MEMSHARE_EXPORTS."
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
