"""Workers compute small matrices: numpy's threads would only wait for each other."""

import os
import subprocess
import sys

import pytest

ASKED = """
import {module}, threadpoolctl
print([pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"])
"""


@pytest.mark.parametrize("module", ["memshare_memory.worker", "memshare_trainer.worker"])
@pytest.mark.parametrize(("said", "threads"), [(None, "[1]"), ("2", "[2]")])
def test_numpy_computes_in_one_thread_unless_somebody_says_otherwise(
    module: str, said: str | None, threads: str
) -> None:
    environment = {
        name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    }
    if said is not None:
        environment["OPENBLAS_NUM_THREADS"] = said
    found = subprocess.run(
        [sys.executable, "-c", ASKED.format(module=module)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )

    assert found.stdout.strip() == threads
