"""Commands of tests run in the Python that is prepared for them, also beside tests that load torch."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.support import prepared_python
from tests.support.terminal import Terminal


def test_libraries_that_set_variables_when_a_test_imports_them_do_not_keep_commands_from_it(tmp_path: Path) -> None:
    for library in ("sklearn", "torch"):
        importlib.import_module(library)

    done = prepared_python.run(["--version"], Terminal(tmp_path).environment, 60)

    assert done is not None
    assert done.stdout.startswith("memshare ")
