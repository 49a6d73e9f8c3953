from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import qdrant_server
from tests.support.terminal import Terminal

ON_A_SERVER_TOO = {"test_concepts", "test_hostile_texts"}
"""Files whose deployment has its pool on a Qdrant server as well, where there is a real one."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "pool_settings" in metafunc.fixturenames and metafunc.module.__name__.rpartition(".")[2] in ON_A_SERVER_TOO:
        places = ["embedded", *(["server"] if qdrant_server.is_there() else [])]
        metafunc.parametrize("pool_settings", places, indirect=True, scope="module")


@pytest.fixture(scope="module")
def pool_settings(request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The settings that say where the pool of `terminal` is: none where it is embedded."""
    if getattr(request, "param", "embedded") == "embedded":
        yield {}
        return
    with qdrant_server.emptied() as url:
        yield {"MEMSHARE_QDRANT_URL": url}


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory, pool_settings: dict[str, str]) -> Iterator[Terminal]:
    """A terminal beside a worker of all queues, which runs for all tests of a file."""
    terminal = Terminal(tmp_path_factory.mktemp("up"))
    terminal.environment |= pool_settings
    with terminal.working():
        yield terminal
