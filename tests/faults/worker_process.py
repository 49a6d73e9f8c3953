"""A process of memshare, such as a worker as `memshare up` runs it, which ends with the run."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from memshare.operate.child import ends_with_parent
from tests.faults.hosts import Host, enter
from tests.support import prepared_python

ROOT = Path(__file__).parents[2]
KEPT = ("MEMSHARE_EXPORTS",)  # of the run's own environment


def start_memshare(
    words: Sequence[str], log: Path, environment: Mapping[str, str], host: Host | None = None
) -> prepared_python.Process:
    """Start `memshare` with these words, on a host of its own if one is given. It is killed when the run ends."""
    inherited = {name: value for name, value in os.environ.items() if name in KEPT or not name.startswith("MEMSHARE_")}
    first = partial(_settle_in, host.namespace if host else None)
    return prepared_python.start("memshare", words, inherited | dict(environment), log, first)


def _settle_in(namespace: Path | None) -> None:
    os.setsid()
    if namespace:
        enter(namespace)
    if ending := ends_with_parent(signal.SIGKILL):
        ending()
