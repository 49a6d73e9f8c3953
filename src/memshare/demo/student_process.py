"""The student of the demo as the chat model of a deployment, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from memshare.local.child import ends_with_parent
from memshare_broker.errors import Unreachable

MODEL = "openai:student"
MODEL_SETTINGS = ("MEMSHARE_MODEL", "MEMSHARE_MODEL_AGENTS", "MEMSHARE_MODEL_SCORER", "MEMSHARE_MODEL_TRAINER")


@contextmanager
def student_answers() -> Iterator[None]:
    """While the block runs, the environment names the student as the model, for the workers that are started in it."""
    before = dict(os.environ)
    process = subprocess.Popen(
        [sys.executable, "-m", "memshare.demo.student_server"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=ends_with_parent(signal.SIGTERM),
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise Unreachable("The student of the demo did not start; what it said stands above.")
        # A role without a model would have that of the user's file of settings.
        os.environ |= dict.fromkeys(MODEL_SETTINGS, MODEL) | {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "student"}
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        process.terminate()
        process.wait()
        if process.stdout:
            process.stdout.close()
