from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from tests.support import qdrant_server
from tests.support.terminal import Terminal, end

ON_A_SERVER_TOO = {"test_concepts", "test_hostile_texts", "test_retriever_commands", "test_shown_memories"}
"""Files whose tests run with the pool on a Qdrant server as well, where there is a real one."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "terminal" in metafunc.fixturenames and metafunc.module.__name__.rpartition(".")[2] in ON_A_SERVER_TOO:
        places = ["embedded", *(["server"] if qdrant_server.is_there() else [])]
        metafunc.parametrize("terminal", places, indirect=True, scope="module")


@pytest.fixture(scope="module")
def terminal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """A terminal beside `memshare up`, which runs for all tests of a file."""
    terminal = Terminal(tmp_path_factory.mktemp("up"))
    with qdrant_server.emptied() if getattr(request, "param", "") == "server" else nullcontext() as url:
        if url:
            terminal.environment["MEMSHARE_QDRANT_URL"] = url
        process = terminal.up()
        yield terminal
        end(process)
