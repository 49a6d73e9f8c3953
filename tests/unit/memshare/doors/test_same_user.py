"""Whose a connection is, as the kernel says it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from memshare import Memory, NoToken
from memshare.doors.authentication import is_same_user
from memshare.doors.server import server_of
from memshare.operations.backend import Backend
from tests.support.served import running

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


def test_the_kernel_is_asked_once_for_a_connection(backend: Backend) -> None:
    asked: list[int] = []
    server = server_of(backend)
    server.config.app.state.is_same_user = lambda peer, _: not asked.append(peer)

    with running(server) as url:
        for _ in range(2):
            with Memory(url) as one:
                assert one.stats().memories == one.stats().memories == 0

    assert len(asked) == len(set(asked)) == 2


def test_a_connection_of_another_user_is_refused_at_every_request(backend: Backend) -> None:
    server = server_of(backend)
    server.config.app.state.is_same_user = lambda *_: False

    with running(server) as url, Memory(url) as one:
        for _ in range(2):
            with pytest.raises(NoToken):
                one.stats()
