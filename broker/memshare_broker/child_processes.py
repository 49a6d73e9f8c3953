"""Python children, for work that may hang, crash or take all memory: how one is started and asked, and its main loop.

A request may be made to take hours and all memory. It costs the child, and nothing else: the system ends it.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import importlib
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from logging.handlers import QueueHandler
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from memshare_broker.errors import GiveUp, Reason

log = logging.getLogger(__name__)


def python(*arguments: str) -> list[str]:
    """The command of this interpreter with arguments.

    With -P, for what lies in the folder in which memshare was started is no module of ours: a project's own `redis.py`
    would be imported in place of the package, with the model's key and all pools at hand.
    """
    return [sys.executable, "-P", *arguments]  # noqa: TID251


def ends_with_parent(sign: signal.Signals) -> Callable[[], None] | None:
    """A function that a child runs first so that it ends when its parent is killed; None except on Linux."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return lambda: library.prctl(PR_SET_PDEATHSIG, int(sign))


@contextlib.contextmanager
def signals_wait() -> Iterator[None]:
    """Within the block Ctrl-C and SIGTERM wait for its end: Python swallows what is raised while it forks."""
    if threading.current_thread() is not threading.main_thread():  # which alone handles them
        yield
        return
    came: list[int] = []
    handlers = {sign: signal.getsignal(sign) for sign in (signal.SIGINT, signal.SIGTERM)}
    ours = {sign: handler for sign, handler in handlers.items() if callable(handler)}
    for sign in ours:
        signal.signal(sign, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for sign, handler in ours.items():
            signal.signal(sign, handler)
        for number in came:
            signal.raise_signal(number)


PR_SET_PDEATHSIG = 1
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")  # of the environment, and no key
GOING_WITHIN = 5.0  # seconds from the end of its connection to its own

Answer = dict[str, Any]
"""The process's findings, or the reason for a refusal (`refused`); and notes for the log (`notes`)."""


class Ended(Exception):
    """The process ended without an answer; the argument is its exit code."""


class TooLate(Exception):
    """The process gave no answer in time, and was ended."""


class _Process:
    """A process, and the connection to it."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self._connection, theirs = Pipe()
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(place for place in sys.path if place)
        with theirs:
            self._process = subprocess.Popen(
                python(*command, str(theirs.fileno())),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for its parent, which then ends it
            )

    def ask(self, request: Mapping[str, object], data: bytes, seconds: float) -> Answer:
        """Its answer; raises `Ended` where there is none, `TooLate` where there is none in time."""
        try:
            self._connection.send_bytes(json.dumps(request).encode())
            self._connection.send_bytes(data)
            if not self._connection.poll(seconds):
                raise TooLate
            answer: Answer = json.loads(self._connection.recv_bytes())
        except (EOFError, OSError) as error:
            raise Ended(self._exit_code()) from error
        return answer

    def _exit_code(self) -> int:
        try:
            return self._process.wait(GOING_WITHIN)
        except subprocess.TimeoutExpired:
            self._end()
            return self._process.wait()

    def _end(self) -> None:
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # with the commands that it runs

    def close(self) -> None:
        self._connection.close()
        self._end()
        self._process.wait()


class ChildProcesses:
    """Up to `most` processes of one Python command, each started when it is needed. Safe to use from many threads."""

    def __init__(self, *command: str, most: int) -> None:
        self._command = command
        self._places = threading.Semaphore(most)
        self._idle: list[_Process] = []
        atexit.register(self.close)

    def ask(self, request: Mapping[str, object], data: bytes, seconds: float) -> Answer:
        """The answer of a process to a request; the wait for a free process takes none of the seconds.

        Raises `Ended` and `TooLate`.
        """
        with self._places:
            while True:
                process, is_new = self._next()
                try:
                    answer = process.ask(request, data, seconds)
                except Ended as ended:
                    process.close()
                    if ended.args[0] != 0 or is_new:
                        raise
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
            return _Process(self._command), True

    def close(self) -> None:
        """End those that do nothing; one that is at work ends when it finds that nobody waits for it."""
        while self._idle:
            self._idle.pop().close()


@functools.cache
def children_of(_pid: int, command: tuple[str, ...], most: int) -> ChildProcesses:
    """The child processes of a process by its id: one that was forked from it must not talk to them."""
    return ChildProcesses(*command, most=most)


def ask_child(
    command: tuple[str, ...], most: int, request: Mapping[str, Any], data: bytes, within: float, reason: Reason
) -> Answer:
    """The answer of one of up to `most` child processes, within so many seconds; its notes go to the log.

    `source` in the request is what it is about, `seconds` the processor time and `memory` the bytes that it may take.
    Raises `GiveUp` with `reason` where it takes more, is refused, or ends the process.
    """
    source = request["source"]
    try:
        answer = children_of(os.getpid(), command, most).ask(request, data, within)
    except TooLate as error:
        raise GiveUp(f"{source!r} takes more than {within:g} s.", reason) from error
    except Ended as ended:
        code = ended.args[0]
        if code == -signal.SIGPROF:
            raise GiveUp(f"{source!r} takes more than {request['seconds']:g} s of processor time.", reason) from ended
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        raise GiveUp(f"{source!r} could not be finished: its process ended with {how}.", reason) from ended
    for note in answer["notes"]:
        log.warning("%r: %s", source, note)
    if "refused" in answer:
        raise GiveUp(answer["refused"], reason)
    return answer


FRESH = 256 * 2**20  # bytes; one that has needed more is replaced by a new process
IDLE = 30.0  # seconds without a request, after which it ends
MOST_NOTES, LONGEST_NOTE = 20, 500  # what the log is told of one request
LONGEST = 300  # characters of an error that are told

Request = dict[str, object]


def serve(answer: Callable[[Request, bytes], dict[str, object]]) -> None:
    """Answer requests; `source` in one is what it is about, `memory` the bytes that it may take.

    What `answer` raises as `GiveUp` is the answer's `refused`.
    """
    connection = Connection(int(sys.argv[1]))
    at_first = _peak()  # what the process that started this one takes, on Linux
    notes: SimpleQueue[logging.LogRecord] = SimpleQueue()
    logging.getLogger().addHandler(QueueHandler(notes))
    while connection.poll(IDLE):
        try:
            request = json.loads(connection.recv_bytes())
            data = connection.recv_bytes()
        except EOFError:
            return
        if sys.platform == "linux":  # elsewhere the limit is not to be had: that of time remains
            resource.setrlimit(resource.RLIMIT_AS, (request["memory"], resource.getrlimit(resource.RLIMIT_AS)[1]))
        found: dict[str, object]
        try:
            found = answer(request, data)
        except GiveUp as error:
            found = {"refused": str(error)}
        except MemoryError:
            found = {"refused": f"{request['source']!r} takes more than {request['memory'] // 2**20} MB of memory."}
        finally:
            limit_time(0)
        said = [" ".join(notes.get().getMessage().split())[:LONGEST_NOTE] for _ in range(notes.qsize())]
        connection.send_bytes(json.dumps(found | {"notes": said[:MOST_NOTES]}).encode())
        if _peak() > max(FRESH, at_first):
            return


def limit_time(seconds: float) -> None:
    """When so many seconds of processor time are used up the system ends this process, whatever it is at; 0: never."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def function_of(name: str, folder: str) -> Callable[..., object]:
    """A function by MODULE:FUNCTION; modules of the folder are found, after all others. Raises `GiveUp` without one."""
    if folder not in sys.path:
        sys.path.append(folder)
    module_name, _, function_name = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise GiveUp(f"its module cannot be imported: {type(error).__name__}: {str(error)[:LONGEST]}") from error
    function = getattr(module, function_name, None)
    if not callable(function):
        raise GiveUp(f"the module {module_name!r} has no function {function_name!r}")
    return function  # type: ignore[no-any-return]


def _peak() -> int:
    """The most memory that this process has taken, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
