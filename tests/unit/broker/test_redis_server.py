from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from subprocess import Popen

import pytest
import redis

from memshare_broker.app import kombu_url, lists_of, make_app, queue_named
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput
from memshare_broker.private_files import PATH_LIMIT
from memshare_broker.redis_server import socket_path, socket_url, start
from memshare_broker.settings import Settings
from tests.support.deployment import wait_for

Start = Callable[[Path], Popen[bytes]]


@pytest.fixture
def serve() -> Iterator[Start]:
    """Starts a server on a data folder and waits until it answers; it has ended when the test has."""
    with ExitStack() as stack:

        def started(data: Path) -> Popen[bytes]:
            process = stack.enter_context(start(data))
            stack.callback(process.kill)
            stack.callback(socket_path(data).unlink, missing_ok=True)
            deadline = time.monotonic() + 20
            with closing(connect(socket_url(data), tries=0)) as client:
                while True:
                    try:
                        client.ping()
                        return process
                    except redis.ConnectionError:
                        assert process.poll() is None
                        assert time.monotonic() < deadline
                        time.sleep(0.01)

        yield started


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder of the test, with a short path."""
    with tempfile.TemporaryDirectory(prefix="home-") as name:
        monkeypatch.setenv("HOME", name)
        yield Path(name)


@pytest.mark.parametrize("place", [".memshare-sockets", "the folder in it"])
@pytest.mark.parametrize("kind", ["open to others", "a link", "a file"])
def test_nobody_is_sent_to_a_socket_in_a_folder_that_others_can_use(home: Path, place: str, kind: str) -> None:
    data = Path("/home/" + "deep/" * 30)
    path = socket_path(data)
    folder = path.parent if place != ".memshare-sockets" else path.parent.parent
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    if kind == "open to others":
        folder.mkdir()
        folder.chmod(0o755)
    elif kind == "a link":
        folder.symlink_to(home)
    else:
        folder.touch()

    with pytest.raises(BadInput, match="can be used by others"):
        socket_path(data)
    with pytest.raises(BadInput, match="can be used by others"):
        _ = Settings(data=data).redis


def test_the_socket_is_in_the_data_folder() -> None:
    assert socket_path(Path("/home/ada/pool")) == Path("/home/ada/pool/redis.sock")
    assert socket_url(Path("/home/ada/pool")) == "unix:///home/ada/pool/redis.sock?db=0"


@pytest.mark.parametrize(
    "folder", ["/home/" + "deep/" * 30, "/home/" + "深" * 40, "/home/50%", "/home/what?", "/home/#1"]
)
def test_a_folder_whose_path_is_no_socket_gets_one_in_a_private_folder_of_the_home_folder(
    folder: str, home: Path
) -> None:
    path = socket_path(Path(folder))

    assert path.parent.parent == home / ".memshare-sockets"
    assert len(str(path).encode()) <= PATH_LIMIT
    assert path == socket_path(Path(folder)), "the same for whoever asks"
    assert path != socket_path(Path(folder) / "other")


@pytest.mark.parametrize("name", ["deep/" * 30, "100% of #1?", "a b:c@d é"])
def test_a_server_is_reached_by_us_and_by_celery_whatever_its_folder_is_called(
    tmp_path: Path, serve: Start, home: Path, name: str
) -> None:
    data = tmp_path / name
    data.mkdir(parents=True)

    serve(data)

    settings = Settings(data=data)
    with closing(make_app(settings=settings)) as app, closing(connect(settings.redis, tries=0)) as client:
        assert str(app.conf.broker_url) == kombu_url(socket_url(data))
        app.send_task("agents.poem", [{}], queue=queue_named("poem"))
        assert sum(client.llen(each) for each in lists_of("poem")) == 1
    for folder in (home / ".memshare-sockets").rglob("."):
        assert folder.stat().st_mode & 0o077 == 0


def test_what_was_written_is_there_after_the_server_was_killed(tmp_path: Path, serve: Start) -> None:
    process = serve(tmp_path)
    with closing(connect(socket_url(tmp_path), tries=0)) as client:
        client.set("memory", "kept")
        client.rpush("queue", *range(1000))
        # While the disk is busy with what came before, it keeps what is new for up to two seconds (everysec).
        wait_for(lambda: client.info("persistence")["aof_buffer_length"] == 0, 10, "the log to be written")
    process.kill()
    process.wait(10)

    serve(tmp_path)

    with closing(connect(socket_url(tmp_path), tries=0)) as client:
        assert client.get("memory") == "kept"
        assert client.llen("queue") == 1000


def test_the_server_listens_on_its_socket_alone(tmp_path: Path, serve: Start) -> None:
    serve(tmp_path)

    with closing(connect(socket_url(tmp_path), tries=0)) as client:
        assert client.config_get("port") == {"port": "0"}
        assert client.config_get("appendonly") == {"appendonly": "yes"}
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    assert socket_path(tmp_path).stat().st_mode & 0o077 == 0
