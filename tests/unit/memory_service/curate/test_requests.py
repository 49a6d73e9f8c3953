"""What people ask of a pool, for processes that only ask."""

from __future__ import annotations

import subprocess
import sys


def test_who_only_asks_loads_neither_numpy_nor_an_engine_nor_redis() -> None:
    script = (
        "import sys, memshare_memory.curate.requests, memshare_memory.stores.store;"
        "print({'numpy', 'redis', 'qdrant_edge', 'qdrant_client', 'torch'} & set(sys.modules))"
    )

    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True).stdout

    assert said == "set()\n"
