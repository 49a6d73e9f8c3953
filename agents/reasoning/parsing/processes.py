"""Takes HTML and PDF apart in processes of their own, within limits of time and memory."""

from __future__ import annotations

import atexit
import functools
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from multiprocessing import Pipe
from typing import Any, Literal, NamedTuple

from memshare.broker.errors import GiveUp

log = logging.getLogger(__name__)

SECONDS: Mapping[str, float] = {"html": 10.0, "pdf": 40.0}
"""Processor time that one document may take. A PDF is read no further after 30 seconds, and what was read counts."""

COMMAND = ("-m", "memshare.agents.reasoning.parsing.child")
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")  # of the environment, and no key
PATIENCE = 6  # times as long may pass on the clock, where the processors are busy with other work
MOST_PROCESSES = 2
GOING_WITHIN = 5.0  # seconds from the end of its connection to its own


Answer = dict[str, Any]  # title and text, or why not (`refused`); and what the log is told (`notes`)


class Parsed(NamedTuple):
    """The title and the main text of a document; both empty where there are none."""

    title: str
    text: str


def parse(source: str, data: bytes, kind: Literal["html", "pdf"], charset: str | None, most: int) -> Parsed:
    """The title and up to `most` characters of text; what was left out is in the log.

    `charset` is the character encoding of HTML where it is known. Raises `GiveUp` for what cannot be read, or takes
    more time or memory than a document may.
    """
    request = {"source": source, "kind": kind, "charset": charset, "most": most, "seconds": SECONDS[kind]}
    answer = _processes(os.getpid()).ask(request, data)
    for note in answer["notes"]:
        log.warning("While %r was read: %s", source, note)
    if "refused" in answer:
        raise GiveUp(answer["refused"], "malformed")
    return Parsed(answer["title"], answer["text"])


class _Ended(Exception):
    """The process ended without an answer; the argument is its exit code."""


class _Process:
    """One process that parses, and the connection to it."""

    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        # -P: whatever lies in the folder in which memshare was started is no module of ours.
        command = [sys.executable, "-P", *COMMAND, str(theirs.fileno())]
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(place for place in sys.path if place)
        with theirs:
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for its parent, which then ends it
            )

    def ask(self, request: Mapping[str, object], data: bytes, seconds: float) -> Answer:
        """Its answer; raises `_Ended` where there is none, `GiveUp` where there is none in time."""
        try:
            self._connection.send_bytes(json.dumps(request).encode())
            self._connection.send_bytes(data)
            if not self._connection.poll(seconds):
                raise GiveUp(f"{request['source']!r} takes more than {seconds:.0f} s to read.", "malformed")
            answer: Answer = json.loads(self._connection.recv_bytes())
        except (EOFError, OSError) as error:
            raise _Ended(self._exit_code()) from error
        return answer

    def _exit_code(self) -> int:
        try:
            return self._process.wait(GOING_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def close(self) -> None:
        self._connection.close()
        self._process.kill()
        self._process.wait()


class _Processes:
    """A few processes that parse, each started when it is needed. Safe to use from many threads."""

    def __init__(self) -> None:
        self._places = threading.Semaphore(MOST_PROCESSES)
        self._idle: list[_Process] = []
        atexit.register(self.close)

    def ask(self, request: Mapping[str, object], data: bytes) -> Answer:
        with self._places:
            while True:
                process, is_new = self._next()
                try:
                    answer = process.ask(request, data, PATIENCE * SECONDS[str(request["kind"])])
                except _Ended as ended:
                    process.close()
                    if ended.args[0] != 0 or is_new:
                        raise GiveUp(_why(request, ended.args[0]), "malformed") from ended
                    # It had gone before it was asked, as one does that has nothing to do: another one is asked.
                except BaseException:
                    process.close()
                    raise
                else:
                    self._idle.append(process)
                    return answer

    def _next(self) -> tuple[_Process, bool]:
        try:
            return self._idle.pop(), False
        except IndexError:
            return _Process(), True

    def close(self) -> None:
        """End those that do nothing; one that is at work ends when it finds that nobody waits for it."""
        while self._idle:
            self._idle.pop().close()


@functools.cache
def _processes(_pid: int) -> _Processes:
    """Those of this process: one that was forked from it must not talk to them."""
    return _Processes()


def _why(request: Mapping[str, object], code: int) -> str:
    if code == -signal.SIGPROF:
        return f"{request['source']!r} takes more than {request['seconds']:g} s of processor time to read."
    ended = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"{request['source']!r} cannot be read: the process that took it apart ended with {ended}."
