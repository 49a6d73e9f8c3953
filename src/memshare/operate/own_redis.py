"""Redis for a command that may be run while nothing else runs."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator

import redis

from memshare.operate.data_folder import hold_folder
from memshare_broker import redis_server
from memshare_broker.child_processes import ends_with_parent
from memshare_broker.connection import DOWN, connect, reaching
from memshare_broker.errors import Unreachable
from memshare_broker.settings import Settings

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
            client.ping()
            yield client
        except DOWN:
            with reaching(settings.redis):
                raise


def _answers(settings: Settings) -> bool:
    with contextlib.closing(connect(settings.redis, tries=0)) as client:
        try:
            return bool(client.ping())
        except (redis.RedisError, OSError):
            return False
