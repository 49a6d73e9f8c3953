"""Commands of tests run in the Python that is prepared for them, also beside tests that load torch."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

from memshare_memory.encoders.open_encoder import open_encoder
from tests.support import prepared_python
from tests.support.terminal import Terminal


def test_what_tests_load_keeps_no_command_from_the_prepared_python(tmp_path: Path, exports: Path) -> None:
    for library in ("sklearn", "torch"):
        importlib.import_module(library)
    open_encoder(None, device="cpu", timeout=60, exports=exports)
    os.environ["A_LIBRARY_SET"] = "this"
    environment = Terminal(tmp_path).environment
    del os.environ["A_LIBRARY_SET"]

    assert prepared_python.serves(environment)
    assert prepared_python.run(["--version"], environment, 60).stdout.startswith("memshare ")


def test_each_command_is_an_incarnation_of_its_own_in_all_modules(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.touch()
    says = """
from memshare_broker import presence
from memshare_llm.limits import concurrency
print("is", presence.WORKER_INCARNATION, concurrency.WORKER_INCARNATION)
"""
    for _ in range(2):
        words = ["-n", "1", "-r", "1", says]
        prepared_python.start(words, prepared_python.environment(), [Path(os.devnull), out, out], "timeit").wait(60)

    [first, second] = [line.split()[1:] for line in out.read_text().splitlines() if line.startswith("is ")]
    assert first[0] == first[1] != second[0] == second[1]
