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
