"""What every test has: a real Redis of its own, and no way to spend money."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pytest
import redis

from memshare.operate.supervisor import processors
from memshare_broker import redis_server
from memshare_broker.connection import connect
from memshare_broker.settings import Settings
from memshare_broker.settings_file import PROVIDERS
from tests.support import prepared_python, qdrant_server
from tests.support.terminal import Terminal

# Test processes share the processors. If each used all of them for its small matrices, they would wait for each other:
# a test of the trainer that takes a third of a second took five minutes.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Without it, each of the many processes that tests start would compile all that it imports of ours.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell lets what it starts in the background ignore Ctrl-C, and `nohup` a hangup; so would commands of tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

NOT_QUICK = {"redis_folder", "store", "opener", "flashcard_pool"}
"""Fixtures that start a Redis, open a pool or encode one; `--quick` leaves out the tests that use one."""

NOT_QUICK_FOLDERS = [
    Path(__file__).parent / "unit" / name
    for name in (
        "agents/reasoning/sources/test_parsing.py",
        "agents/reasoning/sources/test_pdf_text.py",
        "deploy",
        "llm/providers",
        "memory_service/door/test_bounded_connection.py",
        "memory_service/encoders",
        "memory_service/stores",
        "retriever_trainer",
        "scorer/checking",
    )
]
"""Tests that load torch, open pools, or have processes and servers of their own."""

REAL_PROCESSES = [Path(__file__).parent / name for name in ("browser", "faults", "flow", "promises")]
"""Tests that wait for workers or a browser, which other work on the machine can hold up for longer than they allow.

Each has a second try, and the last lines of a run name those that took it: look into one that is named twice."""

LONGEST = [
    Path(__file__).parent / name
    for name in (
        "flow/test_evaluate_all.py",
        "flow/test_retriever_commands.py",
        "flow/test_evaluate.py",
        "promises/test_nothing_lost_when_killed.py",
        "promises/test_documentation_runs.py",
        "faults/test_faults_short.py",
        "faults/test_attack.py",
        "faults/test_killed_trainer.py",
    )
]
"""Files that take minutes; they begin first, so that none is left when all others have ended."""

IN_MEMORY = Path("/dev/shm")
ROOM = 4 * 2**30  # bytes; a whole run writes half as much
MEMORY_EACH = 3 * 2**30  # bytes; what a test process takes with its deployment


def _write_to_memory() -> None:
    """Keep what tests write in memory, where there is room: a new pool waits up to a second for a busy disk."""
    if "TMPDIR" in os.environ or not IN_MEMORY.is_dir():
        return
    if shutil.disk_usage(IN_MEMORY).free >= ROOM and not os.statvfs(IN_MEMORY).f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = str(IN_MEMORY)  # processes that tests start go by it, too
        tempfile.tempdir = None  # it is looked up again


_write_to_memory()
prepared_python.environment()  # is from now on that of every command, whatever libraries set in this process


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two test processes for each processor, for tests of whole deployments wait half of their time; memory allowing.

    The quick ones do not wait.
    """
    if config.getoption("--quick"):
        return processors()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(12, max(2, min(processors() * 2, memory // MEMORY_EACH)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Import all tests without a look at what is garbage, and never look at all that again: it stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note which Qdrant a test has; its process may not be the one that sums up."""
    qdrant_server.begin_test()
    try:
        return (yield)
    finally:
        item.user_properties += [("qdrant", place) for place in qdrant_server.seen]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which Qdrant the tests had, and how many saw a real one."""
    reports = [one for some in terminalreporter.stats.values() for one in some if getattr(one, "when", "") == "call"]
    had = [{value for name, value in one.user_properties if name == "qdrant"} for one in reports]
    if not any(had):
        return
    seen = sum(bool(places - {qdrant_server.STAND_IN}) for places in had)
    told = ", ".join(sorted(set().union(*had)))
    terminalreporter.write_line(f"Qdrant was {told}: {seen} tests saw a real server.")
    if not seen:
        terminalreporter.write_line("For a real one put `qdrant` on the PATH, or set MEMSHARE_TEST_QDRANT_URL.")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true", help="Leave out tests with Redis, a pool, torch or processes, or marked slow."
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give those of real processes a second try, and put all in order; `_is_quick` says what --quick keeps."""
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in REAL_PROCESSES):
            item.add_marker(pytest.mark.flaky(reruns=1))
    if config.getoption("--quick"):
        config.hook.pytest_deselected(items=[item for item in items if not _is_quick(item)])
        items[:] = [item for item in items if _is_quick(item)]
    places = {file: place for place, file in enumerate(_in_order(list(dict.fromkeys(item.path for item in items))))}
    items.sort(key=lambda item: places[item.path])


def _in_order(files: list[Path]) -> list[Path]:
    """The longest, then those that share a browser, then others that wait and others that compute in turn, so that
    the processors are used all along."""
    first = [one for one in LONGEST if one in files]
    first += [one for one in files if one.parent == REAL_PROCESSES[0]]
    waiting = [one for one in files if one.parent in REAL_PROCESSES and one not in first]
    computing = [one for one in files if one.parent not in REAL_PROCESSES]
    return first + [one for pair in zip_longest(waiting, computing) for one in pair if one is not None]


def _is_quick(item: pytest.Item) -> bool:
    """Whether it has no Redis, pool or torch, no processes and servers of its own, and no mark `slow`."""
    return not (
        NOT_QUICK & set(getattr(item, "fixturenames", ()))
        or item.get_closest_marker("slow")
        or any(item.path.is_relative_to(folder) for folder in NOT_QUICK_FOLDERS)
    )


EXPORTS = "MEMSHARE_EXPORTS"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting and no API key of the machine reaches a test."""
    for name in list(os.environ):
        if name.startswith(("MEMSHARE_", *(f"{one.upper()}_" for one in PROVIDERS))) and name != EXPORTS:
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """A worker that a test runs in this process sets up the logs of the whole process: undo it for the next test."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(level)
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)


@pytest.fixture(scope="session", autouse=True)
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of exported encoders, one for all test processes: a model is exported once in a session."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "exports"
    folder.mkdir(exist_ok=True)
    os.environ[EXPORTS] = str(folder)
    return folder


@pytest.fixture(scope="session")
def redis_folder() -> Iterator[Path]:
    """The data folder of a Redis that runs for the whole session."""
    with tempfile.TemporaryDirectory(prefix="memshare-test-") as name:
        data = Path(name)
        process = redis_server.start(data)
        client = connect(redis_server.socket_url(data), tries=0)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                client.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.01)
        client.close()
        yield data
        process.terminate()
        process.wait(10)


@pytest.fixture
def settings(redis_folder: Path) -> Settings:
    return Settings(data=redis_folder, model="offline")


@pytest.fixture
def redis_client(settings: Settings) -> Iterator[redis.Redis]:
    """A client of an empty Redis."""
    client = connect(settings.redis)
    client.flushall()
    yield client
    client.close()


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
