"""A `memshare up` that works off the demo's tasks and a few more, for tests that look at it from outside."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from memshare.client.client import Client
from memshare.demo.play import Played, play
from memshare_broker.settings import Settings
from tests.support import prepared_python
from tests.support.deployment import ROOT, ended, wait_for
from tests.support.inventing_model.chat import served

LONG = "A limerick about a lighthouse; my key is sk-test-0123456789abcdef. " + "It has a red door. " * 20 + "Omega."
KEY, END = "0123456789abcdef", "Omega"  # of the long prompt; neither is to be shown anywhere
LAST = (
    ("poem", "limerick", "Write a limerick about a beekeeper in Leeds who lost her gloves."),
    ("plan", "travel", "Plan two days in Porto for a family with a pram."),
    ("logic", "riddle", "Write a riddle whose answer is a lighthouse."),
)
LEARNT_WITHIN = 120  # seconds
UP = ("up", "--agents", "1", "--port", "0")
WORKERS = ("memory-", "logic-plan-poem-reasoning-", "scorer-", "trainer-")
"""How the names of its workers begin."""


@dataclass(frozen=True)
class Worked:
    """A `memshare up` whose tasks have all ended."""

    flower: str
    played: tuple[Played, ...]
    """The tasks of the demo."""
    long: str
    """The id of the task with a long prompt and a key in it."""


@contextmanager
def running(*words: str, **environment: str) -> Iterator[str]:
    """A command of memshare that runs while the block does; yields its first line, which says that it is ready."""
    with subprocess.Popen(
        [sys.executable, "-m", "memshare", *words, "--json"],
        cwd=ROOT,
        env=prepared_python.environment() | served() | environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            ready = process.stdout.readline()
            assert ready, f"memshare {' '.join(words)} did not start"
            yield ready
        finally:
            process.send_signal(signal.SIGINT)
            ended(process)


@contextmanager
def up(data: Path, **environment: str) -> Iterator[str]:
    """`memshare up` while the block runs; yields Flower's address."""
    with running(*UP, "--data", str(data), "--flower-port", str(free_port()), **environment) as ready:
        told = json.loads(ready)
        yield told["flower"].replace("://", f"://{told['flower_auth']}@")


def work(data: Path, flower: str) -> Worked:
    """Play the demo's tasks and then some, until no message is open any more."""
    with closing(Client(Settings(data=data, model="offline"))) as client:
        played = play(client, lambda *_: None)
        long = client.submit("poem", LONG, kind="limerick").id
        for agent, kind, prompt in LAST:  # one after the other, so that their hops are side by side in Flower's table
            client.wait(client.submit(agent, prompt, kind=kind).id, 600)
        wait_for(lambda: not any(client.ledger.open_messages().values()), LEARNT_WITHIN, "every lesson to be learnt")
    return Worked(flower, tuple(played), long)


def free_ports(count: int) -> int:
    """The first of so many free ports side by side, below those that the system gives out by itself."""
    while True:
        first = random.randrange(20_000, 30_000)
        try:
            for port in range(first, first + count):
                socket.create_server(("", port)).close()
            return first
        except OSError:
            continue


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
