"""The connection to Redis, for what the project itself keeps there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import redis
from kombu.exceptions import OperationalError
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry
from redis.sentinel import Sentinel

from memshare.broker.errors import Unreachable
from memshare.broker.sentinels import SCHEME, parse_sentinels

DOWN = (RedisConnectionError, RedisTimeoutError)


def connect(url: str, *, tries: int = 8, timeout: float = 30) -> redis.Redis:
    """A client for `url` that bridges a short outage; it connects at its first command. `timeout` is in seconds."""
    options: dict[str, Any] = {
        "decode_responses": True,
        "socket_timeout": timeout,
        "socket_connect_timeout": min(timeout, 5),
        "health_check_interval": 25,
        "retry": Retry(ExponentialWithJitterBackoff(base=0.1, cap=2), tries),
        "retry_on_error": list(DOWN),
    }
    if not url.startswith(SCHEME):
        return redis.Redis.from_url(url, **options)
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
    except ResponseError as error:
        raise Unreachable(f"Redis at {address(url)} refuses: {error}") from error
    except (*DOWN, OperationalError, OSError) as error:
        start = (
            "Start `memshare up`, or set MEMSHARE_REDIS_URL to a running Redis."
            if url.startswith("unix:")
            else "Start that Redis, or set MEMSHARE_REDIS_URL to one that runs."
        )
        raise Unreachable(f"Redis does not answer at {address(url)}. {start}") from error
