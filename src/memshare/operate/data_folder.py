"""The data folder of one machine, which one `memshare up` or command holds at a time, and the Redis in it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import redis
import tomlkit
from filelock import lock_descriptor

from memshare_broker import leases, redis_server
from memshare_broker.child_processes import ends_with_parent, signals_wait
from memshare_broker.connection import DOWN, connect, reaching
from memshare_broker.errors import BadInput, Unreachable
from memshare_broker.private_files import PRIVATE, keep_private
from memshare_broker.settings import MODELS_OF_ROLES, OFFLINE, Settings
from memshare_broker.settings_file import ADDRESSES, NAME, RUNNING


@contextlib.contextmanager
def tell_models(settings: Settings) -> Iterator[None]:
    """Tell commands on this data folder which models run here, how long and how often each is asked, and where its
    agents are, while the block does.

    Keys are not told: they stay in the environment, or in a file of settings.
    """
    common = settings.model_copy(update={"model_agents": None}).model_for("agents")
    told = {name: value for name in MODELS_OF_ROLES if (value := getattr(settings, name))}
    told |= {"model_timeout": settings.model_timeout, "tries": settings.tries}
    told |= {"model": common} if common != OFFLINE else {}
    told |= {"agents_dir": str(settings.agents_dir.absolute())} if settings.agents_dir else {}
    told |= {name: address for name in ADDRESSES if (address := os.environ.get(name.upper()))}
    with (settings.data / RUNNING).open("a+") as file:
        lock_descriptor(file.fileno())
        file.truncate(0)
        file.write(tomlkit.dumps(told))
        file.flush()
        yield


def hold_folder(data: Path) -> contextlib.AbstractContextManager[None]:
    """Hold a data folder for this process; raises when it cannot be written, another holds it, or it is none."""
    _require_own(data)
    keep_private(data)
    words = "Use it as it is, end it with Ctrl-C, or give another folder with --data."
    return leases.folder_lease(data, "up.lock", f"memshare runs already on {{folder}} (process {{process}}). {words}")


OWN = ("up.lock", "secret", "redis", NAME)  # one of these is in the folder of a deployment


def _require_own(data: Path) -> None:
    """Raise where a folder has other things that others may read, which would be closed to them."""
    if not data.is_dir() or not data.stat().st_mode & PRIVATE or any((data / name).exists() for name in OWN):
        return
    if any(place.lstat().st_uid == os.getuid() for place in data.iterdir()):
        raise BadInput(
            f"Others may read what is in {str(data)!r}, and memshare closes its data to them: name a new folder, or an "
            "empty one."
        )


START_WITHIN = 120  # seconds; it reads its log first
STOP_WITHIN = 30  # seconds


@contextlib.contextmanager
def redis_running(settings: Settings) -> Iterator[None]:
    """Have the embedded Redis answer while the block runs: started for it, and with the folder held, where no
    `memshare up` does that. A Redis of the settings is used as it is.

    Raises `MemshareError` while another process holds the folder, such as a `memshare up` that is just starting.
    """
    if settings.redis_url is not None or _answers(settings):
        yield
        return
    with hold_folder(settings.data):
        with signals_wait():
            process = redis_server.start(settings.data, preexec_fn=ends_with_parent(signal.SIGTERM))
        try:
            deadline = time.monotonic() + START_WITHIN
            while not _answers(settings):
                if process.poll() is not None or time.monotonic() > deadline:
                    log = settings.data / "redis" / "redis.log"
                    raise Unreachable(f"The embedded Redis did not start. See {log}.")
                time.sleep(0.05)
            yield
        finally:
            process.terminate()
            try:
                process.wait(STOP_WITHIN)
            finally:
                redis_server.socket_path(settings.data).unlink(missing_ok=True)


@contextlib.contextmanager
def connected(settings: Settings) -> Iterator[redis.Redis]:
    """A client of Redis, which runs while the block does; raises `Unreachable` when it stops answering."""
    with redis_running(settings), contextlib.closing(connect(settings.redis)) as client:
        try:
            _ask(client)
            yield client
        except DOWN:
            with reaching(settings.redis):
                raise


def _answers(settings: Settings) -> bool:
    with contextlib.closing(connect(settings.redis, tries=0)) as client:
        try:
            _ask(client)
        except (redis.RedisError, OSError):
            return False
        return True


def _ask(client: redis.Redis) -> None:
    """Read something: a PING is refused where the disk is full."""
    client.exists("memshare:health")
