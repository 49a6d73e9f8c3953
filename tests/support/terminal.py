"""A terminal for tests: runs the command line on one data folder."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from memshare.client.client import Client
from memshare.operate.data_folder import redis_running
from memshare_agents.roster import load_roster
from memshare_broker.app import CONCEPTS_QUEUE, MEMORY_QUEUE, SCORER_QUEUE, TRAINER_QUEUE
from memshare_broker.settings import Settings
from memshare_broker.wire.signing import open_signer
from tests.support import prepared_python
from tests.support.deployment import ROOT, START_WITHIN, ended, patient, wait_for
from tests.support.inventing_model.chat import served

COLOURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[hl]|\x1b\[(2K|1A)|\r(?!\n)")
"""What rich itself sends: styles, and the moves of a progress bar."""
WITHIN = 120  # seconds
NOTHING = Path(os.devnull)


class Terminal:
    """Runs commands on one data folder."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.environment = {
            **prepared_python.environment(),
            "MEMSHARE_DATA": str(data),
            **served(),
            "MEMSHARE_CONCEPTS": "false",  # a process and a message more; who wants them turns them on
            "MEMSHARE_CONCEPTS_WAIT": "0",  # and does not wait
            "MEMSHARE_CONSOLIDATE": "false",  # it trains for half a minute, and moves the pool to another encoder
            "MEMSHARE_WITHHOLD": "0",  # tests name the memories that are shown
            "COLUMNS": "200",
        }

    def without_model(self) -> Terminal:
        """The same terminal, where no model and no key is set."""
        for name in served():
            del self.environment[name]
        return self

    def run(
        self, *words: str, code: int | None = 0, stdin: str = "", within: float = WITHIN
    ) -> subprocess.CompletedProcess[str]:
        """What a command said; `code` is the exit code that it must have, None for any."""
        done = prepared_python.run(words, self.environment, patient(within), stdin)
        assert code in (None, done.returncode), f"{words}: {done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    def encoded(self, encoding: str, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """What a command said on outputs of another encoding, which all of it must be in."""
        here = Terminal(self.data)
        here.environment = self.environment | {"PYTHONIOENCODING": encoding}
        return here.run(*words, code=code)

    def see(self, *words: str, code: int = 0) -> str:
        """What a command sends to a real terminal, on both of its outputs, without rich's own colours and moves."""
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "rb", buffering=0) as screen:
            shown = Path(os.ttyname(theirs))
            process = prepared_python.start(words, self.environment | {"TERM": "xterm"}, [NOTHING, shown, shown])
            while not wait([screen], 0.05) and process.poll() is None:
                pass
            os.close(theirs)
            sent = bytearray()
            with contextlib.suppress(OSError):  # so Linux tells that nobody writes any more
                while part := screen.read(65_536):
                    sent += part
        text = sent.decode()
        assert process.wait(patient(60)) == code, f"{words}: {text}"
        assert "Traceback" not in text
        return COLOURS.sub("", text).replace("\r\n", "\n")

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json").stdout)

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Redis, and one worker for all queues: what other commands need of `memshare up`, without five processes."""
        settings = Settings(data=self.data, model="offline")
        concepts = [CONCEPTS_QUEUE] if self.environment["MEMSHARE_CONCEPTS"] == "true" else []
        queues = [*load_roster(None), SCORER_QUEUE, *concepts, MEMORY_QUEUE, TRAINER_QUEUE]
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = self.data / "worker.log"
        log.touch()
        with redis_running(settings), contextlib.closing(Client(settings)) as client:
            open_signer(settings, make=True)
            worker = prepared_python.start(["worker", *queues], self.environment, [NOTHING, log, log])
            try:
                wait_for(lambda: client.workers() or worker.poll() is not None, START_WITHIN, "the worker to be there")
                assert worker.poll() is None, log.read_text()
                yield
            finally:
                worker.terminate()
                ended(worker)

    def up(self, *words: str, agents: int = 1) -> subprocess.Popen[str]:
        """A `memshare up` that is ready, with so many processes of agents: by default it has one a processor."""
        options = ("--flower-port", "0", "--port", "0", "--agents", str(agents), "--json", *words)
        process = subprocess.Popen(
            [sys.executable, "-m", "memshare", "up", *options],
            cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        ready = process.stdout.readline()
        assert ready, process.communicate()
        assert json.loads(ready)["ready"] is True
        return process

    def settled(self, task_id: str) -> dict[str, Any]:
        """What `trace` says of a task once it has ended; asked over and over, commands would take a processor."""
        own = Settings(data=self.data, redis_url=self.environment.get("MEMSHARE_REDIS_URL"), model="offline")
        with contextlib.closing(Client(own)) as client:
            client.wait(task_id, patient(60))
        journey: dict[str, Any] = self.json("trace", task_id)
        return journey


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
    assert ended(process) == 0
    process.communicate()


def children_of(data: Path) -> list[str]:
    """The processes that have anything to do with a data folder."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            environment = (folder / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(data) in command or f"MEMSHARE_DATA={data}\0" in environment:
            found.append(command)
    return found
