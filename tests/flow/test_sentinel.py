"""Workers and clients that find their Redis through sentinels, and find the new one when it is gone."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from memshare.client.client import Client
from memshare_broker.connection import address, connect
from memshare_broker.errors import Unreachable
from memshare_broker.redis_server import server_binary
from memshare_broker.settings import Settings
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import deployed, wait_for

PASSWORD = "s3cret-of.redis~"


class Servers:
    """A master, its replica and three sentinels that take two seconds to give a master up."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self.master, self.replica, *self.sentinels = _free_ports(5)
        common = f"bind 127.0.0.1\ndir {folder}\nappendonly no\n"
        login = f"requirepass {PASSWORD}\nprimaryauth {PASSWORD}\n"
        self._run(self.master, common + login)
        self._run(self.replica, common + login + f"replicaof 127.0.0.1 {self.master}\n")
        wait_for(lambda: self._role(self.replica) == "slave" and self._synced(), 20, "the replica to follow")
        for port in self.sentinels:
            watch = f"sentinel monitor main 127.0.0.1 {self.master} 2\nsentinel auth-pass main {PASSWORD}\n"
            patience = "sentinel down-after-milliseconds main 2000\nsentinel failover-timeout main 6000\n"
            self._run(port, f"bind 127.0.0.1\ndir {folder}\n{watch}{patience}", "--sentinel")
        wait_for(self._ready, 30, "the sentinels to know the replica and each other")
        nodes = ",".join(f"127.0.0.1:{port}" for port in self.sentinels)
        self.url = f"sentinel://:{PASSWORD}@{nodes}/0?master=main"

    def kill_master(self) -> None:
        self._processes[self.master].send_signal(signal.SIGKILL)
        wait_for(lambda: self._role(self.replica) == "master", 40, "the replica to become master")

    def stop(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()

    def _run(self, port: int, config: str, *more: str) -> None:
        file = self._folder / f"{port}.conf"
        file.write_text(f"port {port}\nlogfile {self._folder / f'{port}.log'}\n{config}")
        self._processes[port] = subprocess.Popen([server_binary(), str(file), *more], stdout=subprocess.DEVNULL)

    def _role(self, port: int) -> str | None:
        with contextlib.suppress(redis.RedisError), self._client(port) as client:
            return str(client.role()[0])
        return None

    def _synced(self) -> bool:
        with self._client(self.replica) as client:
            return client.info("replication")["master_link_status"] == "up"

    def _ready(self) -> bool:
        with contextlib.suppress(redis.RedisError), contextlib.ExitStack() as stack:
            known = [
                stack.enter_context(redis.Redis(port=port, decode_responses=True)).sentinel_master("main")
                for port in self.sentinels
            ]
            return all(one["num-slaves"] == 1 and one["num-other-sentinels"] == 2 for one in known)
        return False

    def _client(self, port: int) -> redis.Redis:
        return redis.Redis(port=port, password=PASSWORD, decode_responses=True)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    running = Servers(tmp_path)
    yield running
    running.stop()


def test_a_task_submitted_after_a_failover_is_answered_by_the_workers_that_were_there_before(
    servers: Servers, tmp_path: Path
) -> None:
    settings = Settings(data=tmp_path / "data", redis_url=servers.url, model="openai:scripted")
    with (
        serving(lambda _: Answer()) as chat,
        deployed(settings, chat, tmp_path, [("poem", "scorer", "memory")], MEMSHARE_REDIS_URL=servers.url) as running,
    ):
        _answered(running.client, "before")
        with connect(servers.url) as client:
            before = client.connection_pool.get_master_address()

        servers.kill_master()

        with connect(servers.url) as client:
            client.ping()
            assert client.connection_pool.get_master_address() != before
        task_id = wait_for(lambda: _answered(running.client, "after"), 60, "a client to reach the new master")
        assert running.settled(task_id, within=60).state == "settled"
        assert all(process.poll() is None for process in running.processes.values())


def _answered(client: Client, prompt: str) -> str | None:
    """The id of a new task once it is answered; None while Redis does not answer."""
    with contextlib.suppress(Unreachable):
        submitted = client.submit("poem", prompt)
        assert submitted.get(timeout=60)["answer"]
        return submitted.id
    return None


def test_the_password_stays_out_of_messages() -> None:
    url = f"sentinel://:{PASSWORD}@a:1,b:2/0?master=main"

    assert address(url) == "sentinel://a:1,b:2/0?master=main"


@pytest.mark.parametrize("url", ["sentinel://a:1,b:2/0", "sentinel://a/0?master=m", "sentinel:///0?master=m"])
def test_a_url_without_sentinels_or_master_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="sentinel://HOST:PORT"):
        Settings(redis_url=url)
