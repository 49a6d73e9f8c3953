"""`memshare up` as systemd has it: it tells when it is ready, how it is, that it is alive, and that it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

from tests.support.deployment import ROOT, START_WITHIN, patient
from tests.support.terminal import Terminal


def listen_until(manager: socket.socket, wanted: str) -> list[str]:
    """Every assignment up to one that matches what is wanted."""
    heard: list[str] = []
    deadline = time.monotonic() + patient(START_WITHIN)
    while not any(re.match(wanted, one) for one in heard):
        assert time.monotonic() < deadline, heard[-9:]
        heard += manager.recv(65_536).decode().splitlines()
    return heard


def test_a_service_tells_its_manager_when_it_is_ready_how_it_is_and_that_it_ends(tmp_path: Path) -> None:
    terminal, name = Terminal(tmp_path / "data"), f"{uuid4()}"
    terminal.environment |= {"NOTIFY_SOCKET": f"@{name}", "MEMSHARE_GRACE": "40", "MEMSHARE_LEARN": "false"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}")
        manager.settimeout(patient(START_WITHIN))
        options = ("--flower-port", "0", "--port", "0", "--agents", "1")
        up = subprocess.Popen(
            [sys.executable, "-m", "memshare", "up", *options], cwd=ROOT, env=terminal.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

        before = listen_until(manager, "READY=1")
        terminal.run("submit", "poem", "A limerick about a heron", "--kind", "limerick", "--wait")
        listen_until(manager, r"STATUS=open .* answers 1 graded \d+ memories")
        listen_until(manager, "WATCHDOG=1")
        os.kill(up.pid, signal.SIGTERM)
        last = listen_until(manager, "STOPPING=1")

    said, journal = up.communicate(timeout=patient(60))
    assert before[0] == "STATUS=Starting"
    assert not {one for one in before if one.startswith(("WATCHDOG", "STOPPING"))}
    assert last[-1] == "EXTEND_TIMEOUT_USEC=130000000"
    assert "memshare is up." in said
    assert journal.splitlines()[-1].startswith("Ended.")
    assert up.returncode == 0
