"""Finds the export of a model, or has it made by a process of its own, so that torch is gone when that ends."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from memshare_broker.child_processes.pool import python
from memshare_broker.errors import BadInput, MemshareError
from memshare_memory.encoders.encoder import BUNDLED
from memshare_memory.encoders.export_folder import Export, export_folder, read_export
from memshare_memory.encoders.sentence_encoder import cannot_be_loaded

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
        log.info("Exporting the encoder %s once; this takes some seconds.", name or path or BUNDLED)
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
