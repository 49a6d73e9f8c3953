"""Whether this process can serve: it asks Redis for a write, at most once a second, however often it is asked."""

from __future__ import annotations

import threading
import time

import redis
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from memshare.operations.apart import at_the_entrance
from memshare_broker.connection import DOWN, connect
from memshare_broker.settings import Settings

KEY = "memshare:health"
KNOWN_FOR = 1.0  # seconds
REPLY_WITHIN = 3.0  # seconds for Redis


class Health:
    """What is wrong with Redis, if anything, as a sentence for anybody: without its address."""

    def __init__(self, settings: Settings) -> None:
        self._client = connect(settings.redis, tries=0, timeout=REPLY_WITHIN)
        self._turn = threading.Lock()
        self._looked, self._fault = -KNOWN_FOR, ""

    def fault(self) -> str:
        """Nothing where Redis takes writes."""
        with self._turn:
            if time.monotonic() - self._looked >= KNOWN_FOR:
                self._fault = self._ask()
                self._looked = time.monotonic()
            return self._fault

    def close(self) -> None:
        self._client.close()

    def _ask(self) -> str:
        try:
            self._client.set(KEY, 1, ex=60)
        except DOWN:
            return "Redis does not answer."
        except redis.ResponseError as error:
            return f"Redis takes no writes: {error}"
        return ""


def health_routes(health: Health) -> list[Route]:
    """Both without a token: `/health` for who watches and balances, `/alive` for who would restart this process."""

    async def is_well(_: Request) -> Response:
        fault = await at_the_entrance(health.fault)
        return PlainTextResponse(fault or "ok", 503 if fault else 200)

    return [Route("/health", is_well, methods=["GET"]), Route("/alive", is_alive, methods=["GET"])]


async def is_alive(_: Request) -> Response:
    """What a process answers that runs."""
    return PlainTextResponse("ok")
