"""A process of memshare, such as a worker as `memshare up` runs it, which ends with the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from memshare.operate.child import ends_with_parent
from tests.faults.hosts import Host, enter

ROOT = Path(__file__).parents[2]
KEPT = ("MEMSHARE_EXPORTS",)  # of the run's own environment


def start_memshare(
    words: Sequence[str], log: Path, environment: Mapping[str, str], host: Host | None = None
) -> subprocess.Popen[bytes]:
    """Start `memshare` with these words, on a host of its own if one is given.

    It is killed when the thread that called this ends.
    """
    inherited = {name: value for name, value in os.environ.items() if name in KEPT or not name.startswith("MEMSHARE_")}
    ending = ends_with_parent(signal.SIGKILL)

    def prepare() -> None:
        if host:
            enter(host.namespace)
        if ending:
            ending()

    with log.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "memshare", *words],
            cwd=ROOT,
            env=inherited | dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            preexec_fn=prepare,
        )
