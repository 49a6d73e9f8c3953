"""The process that takes HTML and PDF apart, page after page, until nobody asks any more.

A page may be made to take hours and all memory. Here it costs this process, and nothing else: the system ends it.
"""

from __future__ import annotations

import json
import logging
import resource
import signal
import sys
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection
from queue import SimpleQueue

from memshare.broker.errors import GiveUp

MEMORY = 512 * 2**20  # bytes; a page of 4 MB that is as long as a novel takes 250
FRESH = 256 * 2**20  # bytes; one that has needed more is replaced by a new process
IDLE = 30.0  # seconds without a page, after which it ends
MOST_NOTES, LONGEST_NOTE = 20, 500  # what the log is told of one page


def main() -> None:
    connection = Connection(int(sys.argv[1]))
    if sys.platform == "linux":  # elsewhere the limit is not to be had: that of time remains
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    at_first = _peak()  # what the process that started this one takes, on Linux
    notes: SimpleQueue[logging.LogRecord] = SimpleQueue()
    logging.getLogger().addHandler(QueueHandler(notes))
    while connection.poll(IDLE):
        try:
            asked = json.loads(connection.recv_bytes())
            data = connection.recv_bytes()
        except EOFError:
            return
        answer: dict[str, object]
        try:
            title, text = _read(asked, data)
            answer = {"title": title, "text": text}
        except GiveUp as error:
            answer = {"refused": str(error)}
        except MemoryError:
            answer = {"refused": f"{asked['source']!r} takes more than {MEMORY // 2**20} MB of memory to read."}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        said = [" ".join(notes.get().getMessage().split())[:LONGEST_NOTE] for _ in range(notes.qsize())]
        connection.send_bytes(json.dumps(answer | {"notes": said[:MOST_NOTES]}).encode())
        if _peak() > max(FRESH, at_first):
            return


def _peak() -> int:
    """The most memory that this process has taken, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _read(asked: dict[str, object], data: bytes) -> tuple[str, str]:
    source, most, charset = str(asked["source"]), int(str(asked["most"])), asked["charset"]
    if asked["kind"] == "pdf":
        from memshare.agents.reasoning.parsing.pdf_text import pdf_text

        _limit_time(asked)
        title, text = pdf_text(source, data, most)
    else:
        from memshare.agents.reasoning.parsing.html_text import html_text

        _limit_time(asked)
        title, text = html_text(data.decode(str(charset), "replace") if charset else data)
    return title[:most], text[:most]


def _limit_time(asked: dict[str, object]) -> None:
    """When so many seconds of processor time are used up the system ends this process, whatever it is at."""
    signal.setitimer(signal.ITIMER_PROF, float(str(asked["seconds"])))


if __name__ == "__main__":
    main()
