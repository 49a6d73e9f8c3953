"""A process of memshare, such as a worker as `memshare up` runs it, which ends with the run."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from memshare_broker.child_processes import ends_with_parent
from tests.faults.hosts import Host, enter
from tests.support import prepared_python

ROOT = Path(__file__).parents[2]


def start_memshare(
    words: Sequence[str], log: Path, environment: Mapping[str, str], host: Host | None = None
) -> subprocess.Popen[bytes]:
    """Start `memshare` with these words, on a host of its own if one is given.

    It is killed when the thread that called this ends.
    """
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
            env=prepared_python.environment() | dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            preexec_fn=prepare,
        )
