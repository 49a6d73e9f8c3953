"""Chat servers of benchmarks: what an expert says, served in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.support.counts import Counts
from benchmarks.support.replies import Replies
from memshare.demo.student_server import COMPLETIONS, serve
from tests.support.chat_script import Answer, encode

ROOT = Path(__file__).parents[2]


class Running(NamedTuple):
    """A server that runs: its process, and what goes into `OPENAI_BASE_URL`."""

    process: subprocess.Popen[str]
    url: str


def serve_replies(replies: Replies) -> None:
    """Serve what an expert replies; GET /counts has the calls and tokens so far, by kind."""

    async def reply(path: str, body: bytes) -> bytes | None:
        if path == "/counts":
            return json.dumps(replies.tally.counts).encode()
        if not path.endswith(COMPLETIONS):
            return None
        asked = json.loads(body)
        if len(asked["messages"]) == 1:  # `memshare up` tries its model
            return encode(asked, Answer("Hello."))
        return encode(asked, Answer(replies.reply(asked)))

    serve(reply)


@contextmanager
def running(module: str, *arguments: str) -> Iterator[Running]:
    """A module that serves runs in a process of its own while the block does."""
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Running(process, process.stdout.readline().strip())
        finally:
            process.terminate()


def counts(url: str) -> Counts:
    """What a server has counted so far."""
    with urllib.request.urlopen(url.removesuffix("/v1") + "/counts", timeout=10) as reply:
        return dict(json.load(reply))
