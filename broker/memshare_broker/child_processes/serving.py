"""The main loop of a child process: it answers one request after the other, until nobody asks any more.

A request may be made to take hours and all memory. Here it costs this process, and nothing else: the system ends it.
"""

from __future__ import annotations

import importlib
import json
import logging
import resource
import signal
import sys
from collections.abc import Callable
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection
from queue import SimpleQueue

from memshare_broker.errors import GiveUp

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
        _limit_memory(request["memory"])
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


def _limit_memory(size: int) -> None:
    if sys.platform == "linux":  # elsewhere the limit is not to be had: that of time remains
        resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _peak() -> int:
    """The most memory that this process has taken, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
