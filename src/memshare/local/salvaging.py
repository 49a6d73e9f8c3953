"""Has the pool of a data folder looked at while nothing runs, by a process of its own, and repaired if wanted."""

from __future__ import annotations

import subprocess
import sys

from pydantic import ValidationError

from memshare.local.data_folder import hold_folder
from memshare.local.environment import environment_of
from memshare_broker.errors import MemshareError
from memshare_broker.settings import Settings
from memshare_memory.pool.salvaged import Salvaged


def salvage(settings: Settings, *, repair: bool) -> Salvaged:
    """Look at the pool of the data folder; raises `MemshareError` where it cannot be read at all, or is in use."""
    command = [sys.executable, "-m", "memshare_memory.pool.salvage", *(["repair"] if repair else [])]
    with hold_folder(settings.data):
        done = subprocess.run(
            command, env=environment_of(settings), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    try:
        return Salvaged.model_validate_json(done.stdout)
    except ValidationError:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise MemshareError(
            f"The pool in {str(settings.data)!r} cannot be read: its process ended with {done.returncode} ({last})."
            " Go back to a backup with `memshare restore FILE --replace`."
        ) from None
