"""Whose a connection is, as the kernel says it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from memshare.serve.same_user import is_same_user

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose a connection is")

NOBODY = 65_534
CONNECT = """
import encodings.idna, os, socket, sys
os.setuid(int(sys.argv[2]))
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print(connection.getsockname()[1], flush=True)
sys.stdin.readline()
connection.shutdown(socket.SHUT_WR)
print("half closed", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as one:
        yield one


def test_a_connection_of_ones_own_is_known(listening: socket.socket) -> None:
    port = listening.getsockname()[1]

    with socket.create_connection(("127.0.0.1", port)) as connection:
        assert is_same_user(connection.getsockname()[1], port)

    assert not is_same_user(port, port)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can connect as somebody else")
def test_a_connection_of_another_user_is_not_taken_for_ones_own(
    listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = listening.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, "-c", CONNECT, str(port), str(NOBODY)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdin is not None
        assert other.stdout is not None
        theirs = int(other.stdout.readline())
        assert not is_same_user(theirs, port)
        with monkeypatch.context() as as_them:
            as_them.setattr(os, "getuid", lambda: NOBODY)
            assert is_same_user(theirs, port)
        print(file=other.stdin, flush=True)
        other.stdout.readline()
        assert not is_same_user(theirs, port)
        print(file=other.stdin, flush=True)
