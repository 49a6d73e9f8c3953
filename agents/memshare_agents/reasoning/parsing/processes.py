"""Takes HTML and PDF apart in processes of their own, within limits of time and memory."""

from __future__ import annotations

import functools
import logging
import os
import signal
from collections.abc import Mapping
from typing import Literal, NamedTuple

from memshare_broker.child_processes.pool import ChildProcesses, Ended, TooLate, ending
from memshare_broker.errors import GiveUp

log = logging.getLogger(__name__)

SECONDS: Mapping[str, float] = {"html": 10.0, "pdf": 40.0}
"""Processor time that one document may take. A PDF is read no further after 30 seconds, and what was read counts."""

MEMORY = 512 * 2**20  # bytes; a page of 4 MB that is as long as a novel takes 250
COMMAND = ("-m", "memshare_agents.reasoning.parsing.child")
PATIENCE = 6  # times as long may pass on the clock, where the processors are busy with other work
MOST_PROCESSES = 2


class Parsed(NamedTuple):
    """The title and the main text of a document; both empty where there are none."""

    title: str
    text: str


def parse(source: str, data: bytes, kind: Literal["html", "pdf"], charset: str | None, most: int) -> Parsed:
    """The title and up to `most` characters of text; what was left out is in the log.

    `charset` is the character encoding of HTML where it is known. Raises `GiveUp` for what cannot be read, or takes
    more time or memory than a document may.
    """
    seconds = SECONDS[kind]
    limits = {"seconds": seconds, "memory": MEMORY}
    request = {"source": source, "kind": kind, "charset": charset, "most": most, **limits}
    try:
        answer = processes(os.getpid()).ask(request, data, PATIENCE * seconds)
    except TooLate as error:
        raise GiveUp(f"{source!r} takes more than {PATIENCE * seconds:.0f} s to read.", "malformed") from error
    except Ended as ended:
        raise GiveUp(_why(source, seconds, ended.args[0]), "malformed") from ended
    for note in answer["notes"]:
        log.warning("While %r was read: %s", source, note)
    if "refused" in answer:
        raise GiveUp(answer["refused"], "malformed")
    return Parsed(answer["title"], answer["text"])


@functools.cache
def processes(_pid: int) -> ChildProcesses:
    """The child processes of this process: a process that was forked from it must not talk to them."""
    return ChildProcesses(*COMMAND, most=MOST_PROCESSES)


def _why(source: str, seconds: float, code: int) -> str:
    if code == -signal.SIGPROF:
        return f"{source!r} takes more than {seconds:g} s of processor time to read."
    return f"{source!r} cannot be read: the process that took it apart ended with {ending(code)}."
