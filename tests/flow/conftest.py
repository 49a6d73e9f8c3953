from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.terminal import Terminal, end


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A terminal beside `memshare up`, which runs for all tests of a file."""
    terminal = Terminal(tmp_path_factory.mktemp("up"))
    process = terminal.up()
    yield terminal
    end(process)
