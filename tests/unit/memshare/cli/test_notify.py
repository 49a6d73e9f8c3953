"""What `memshare up` tells systemd, on real sockets of both kinds."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from memshare.cli.begin.up import notify


@pytest.fixture(params=["a file", "abstract"])
def heard(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The socket of a service manager that listens."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        name = f"{folder}/notify" if request.param == "a file" else f"@{uuid4()}"
        manager.bind(name.replace("@", "\0"))
        manager.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        yield manager


def test_one_datagram_has_an_assignment_a_line(heard: socket.socket) -> None:
    notify("READY=1", "STATUS=open poem 3   answers 1 …")

    assert heard.recv(4096).decode() == "READY=1\nSTATUS=open poem 3 answers 1 …"


def test_a_status_of_several_lines_assigns_nothing_else(heard: socket.socket) -> None:
    notify("STATUS=Redis is away:\nMAINPID=1\r\nSTOPPING=1")

    assert heard.recv(4096) == b"STATUS=Redis is away: MAINPID=1 STOPPING=1"


def test_nothing_fails_where_no_manager_listens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify("READY=1")

    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    notify("READY=1")
