"""The connection to Redis, for what the project itself keeps there."""

from __future__ import annotations

import logging
import re
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import redis
from kombu.exceptions import OperationalError
from redis import exceptions
from redis.backoff import ExponentialWithJitterBackoff
from redis.connection import SSLConnection
from redis.retry import Retry
from redis.sentinel import Sentinel

from memshare_broker.errors import Unreachable
from memshare_broker.settings_file import SCHEME, parse_sentinels

log = logging.getLogger(__name__)

DOWN = (exceptions.ConnectionError, exceptions.TimeoutError)
_SCRIPT = re.compile(r",? script: .*on @user_script\S*")  # of no use to a person
T = TypeVar("T")

MOST_CONNECTIONS = 10_000
"""Of one client: each thread that waits for an answer has one. redis-py's own limit is 100."""


class NoTls(exceptions.ConnectionError):
    """The server at the address does not speak TLS."""


HOPELESS = (exceptions.AuthenticationError, exceptions.NoPermissionError, NoTls)
"""Errors that another try does not mend."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0  # seconds between two looks for a Redis that is away
PATIENCE = 3.0  # seconds of a connection before which a person sits: asked four times, a frozen Redis is told in 12


def connect(url: str, *, tries: int = 8, timeout: float = 30) -> redis.Redis:
    """A client for `url` that bridges a short outage; it connects at its first command. `timeout` is in seconds."""
    options: dict[str, Any] = {
        "decode_responses": True,
        "socket_timeout": timeout,
        "socket_connect_timeout": min(timeout, 5),
        "max_connections": MOST_CONNECTIONS,
        "retry": _WhereItMayHelp(ExponentialWithJitterBackoff(base=0.1, cap=2), tries),
        "retry_on_error": list(DOWN),
    }
    if not url.startswith(SCHEME):
        client = redis.Redis.from_url(url, **options)
        if client.connection_pool.connection_class is SSLConnection:
            client.connection_pool.connection_class = _TlsConnection
        return client
    known = parse_sentinels(url)
    patience = {name: options[name] for name in ("socket_timeout", "socket_connect_timeout")}
    asked = Sentinel(known.nodes, sentinel_kwargs=patience)  # type: ignore[no-untyped-call]
    return asked.master_for(  # type: ignore[no-any-return, no-untyped-call]
        known.master, username=known.username, password=known.password, db=known.database, **options
    )


def address(url: str) -> str:
    """The URL without its password, for messages."""
    parts = urlsplit(url)
    if url.startswith(SCHEME):
        return url.replace(parts.netloc, parts.netloc.rpartition("@")[2])
    place = parts.path if parts.scheme == "unix" else f"{parts.hostname}:{parts.port or 6379}{parts.path}"
    return f"{parts.scheme}://{place}"


@contextmanager
def reaching(url: str) -> Iterator[None]:
    """Turn a lost connection inside the block into `Unreachable`, with the address and what to start."""
    try:
        yield
    except (exceptions.ResponseError, *DOWN, OperationalError, OSError) as error:
        raise unreachable(url, error) from error


def unreachable(url: str, error: Exception) -> Unreachable:
    """Explain an error of Redis, or on the way to it, to a person: the fault, its place, and what to do."""
    fault = error.__cause__ if isinstance(error, OperationalError) else error
    if isinstance(fault, exceptions.AuthenticationError):
        return Unreachable(f"Redis at {address(url)} {_login_fault(url)}")
    if isinstance(fault, exceptions.ResponseError):
        said = _SCRIPT.sub("", str(fault))
        hint = (
            "Make room for it, on its disk or in memory; everything then goes on by itself." if is_full(fault) else ""
        )
        return Unreachable(f"Redis at {address(url)} refuses: {said} {hint}".rstrip())
    if isinstance(fault, NoTls):
        return Unreachable(
            f"Redis at {address(url)} does not speak TLS. Where its port is a plain one, write redis:// in place "
            "of rediss:// in MEMSHARE_REDIS_URL."
        )
    if isinstance(fault, exceptions.TimeoutError) and "connecting" not in str(fault):
        busy = "It is there, but stopped or busy: look at its process and its log. Then everything goes on by itself."
        return Unreachable(f"Redis does not answer at {address(url)}. {busy}")
    start = (
        "Start `memshare up`. Where one runs in another folder, set MEMSHARE_DATA to that, or MEMSHARE_REDIS_URL to a "
        "Redis that runs."
        if url.startswith("unix:")
        else "Start that Redis, or set MEMSHARE_REDIS_URL to one that runs."
    )
    return Unreachable(f"Redis does not answer at {address(url)}. {start}")


def is_full(error: Exception) -> bool:
    """True if Redis takes no writes, for want of memory or of room on its disk; it reads all the same."""
    return isinstance(error, exceptions.OutOfMemoryError) or str(error).startswith("MISCONF")


def is_outage(error: Exception) -> bool:
    """True if Redis may do later what it does not do now: it is away, has no room, or waits for another Redis."""
    if isinstance(error, (*DOWN, exceptions.ReadOnlyError, exceptions.ClusterDownError)) or is_full(error):
        return True
    return isinstance(error, exceptions.ResponseError) and str(error).startswith("NOREPLICAS")


def wait_for_redis(url: str, *, to_read: bool = False) -> None:
    """Return when Redis answers; while it is away, or full where it is not `to_read` alone, say so once, and wait.

    Raises `Unreachable` where waiting does not help: a wrong password, or no TLS.
    """
    pause = FIRST_PAUSE
    with closing(connect(url, tries=0)) as client:
        while True:
            try:
                client.ping()
                return
            except (exceptions.ResponseError, *DOWN) as error:
                if isinstance(error, HOPELESS):
                    raise unreachable(url, error) from error
                will_do = to_read and is_full(error)
                if will_do or pause == FIRST_PAUSE:
                    log.warning("%s%s", unreachable(url, error), "" if will_do else " Waiting for it.")
                if will_do:
                    return
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)


def _login_fault(url: str) -> str:
    if "@" not in urlsplit(url).netloc and "password=" not in url:
        return "asks for a password, and MEMSHARE_REDIS_URL has none: write redis://:PASSWORD@HOST:PORT/DB."
    return "refuses the password, or the user, in MEMSHARE_REDIS_URL."


class _WhereItMayHelp(Retry):
    """Tries again, but not with a wrong password, nor in TLS with what does not speak it."""

    def call_with_retry(
        self,
        do: Callable[[], T],
        fail: Callable[[Exception], Any] | Callable[[Exception, int], Any],
        is_retryable: Callable[[Exception], bool] | None = None,
        with_failure_count: bool = False,
    ) -> T:
        def may_help(error: Exception) -> bool:
            return not isinstance(error, HOPELESS) and (is_retryable is None or is_retryable(error))

        return super().call_with_retry(do, fail, may_help, with_failure_count)


class _TlsConnection(SSLConnection):
    """Waits for the other side of TLS as long as for a connection: a plain Redis says nothing to its greeting."""

    def _wrap_socket_with_ssl(self, sock: Any) -> Any:
        sock.settimeout(self.socket_connect_timeout)
        try:
            wrapped: Any = super()._wrap_socket_with_ssl(sock)  # type: ignore[no-untyped-call]
        except TimeoutError as error:
            raise NoTls("No answer in TLS.") from error
        except ssl.SSLError as error:
            if error.reason == "WRONG_VERSION_NUMBER":
                raise NoTls("The answer was not in TLS.") from error
            raise
        wrapped.settimeout(self.socket_timeout)
        return wrapped
