"""A connection to the memory service: one request at a time, each with its reply or the error that it stands for."""

from __future__ import annotations

from typing import Any

import httpcore2
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from memshare_broker.errors import BadInput, GiveUp, TryAgain
from memshare_broker.settings import Settings
from memshare_broker.time_limit import CallsInTime
from memshare_broker.wire.whole_characters import refuse_half_characters
from memshare_memory.door.listening import socket_of
from memshare_memory.door.messages import Refusal
from memshare_memory.door.method import DoorMethod, Reply, Request

CONNECT_WITHIN = 5.0  # seconds
KEEP_IDLE = 30.0  # seconds
LARGEST_REPLY = 256 * 2**20  # bytes


class DoorConnection:
    """Connections to the memory service, made when they are first used. Safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        socket = None if settings.memory_url else socket_of(settings.data)
        self._place = settings.memory_url or f"the socket {str(socket)!r}"
        self._address = (settings.memory_url or "http://memory").rstrip("/")
        self._headers = [("Content-Type", "application/json")]
        if settings.memory_token is not None:
            self._headers.append(("Authorization", f"Bearer {settings.memory_token.get_secret_value()}"))
        self._network = CallsInTime()
        self._pool = httpcore2.ConnectionPool(
            uds=str(socket) if socket else None,
            max_connections=settings.concurrency + 8,
            keepalive_expiry=KEEP_IDLE,
            network_backend=self._network,
        )

    def close(self) -> None:
        self._pool.close()

    def ask(self, method: DoorMethod[Request, Reply], request: Request, seconds: float) -> Reply:
        """What a method replies. Raises `TryAgain`, `BadInput` or `GiveUp`, as the service says."""
        try:
            content = method.takes.dump_json(request)
        except PydanticSerializationError as error:
            refuse_half_characters(method.takes.dump_python(request), "The request")
            raise BadInput(f"The request cannot be sent: {error}.") from error
        status, body = self._send(method, content, seconds)
        try:
            if status == 200:
                return method.gives.validate_json(body)
            refusal = Refusal.model_validate_json(body)
        except ValidationError as error:
            raise TryAgain(
                f"The server at {self._place} is not a memshare memory service of this version.", reason="store"
            ) from error
        if refusal.kind == "try again":
            raise TryAgain(refusal.error, wait=refusal.wait, reason="store")
        raise BadInput(refusal.error) if refusal.kind == "bad input" else GiveUp(refusal.error, "store")

    def _send(self, method: DoorMethod[Any, Any], content: bytes, seconds: float) -> tuple[int, bytes]:
        """One request. A connection that was kept may have been closed meanwhile: then who only reads asks again."""
        self._network.start(seconds)
        for is_last in (False, True) if method.reads else (True,):
            try:
                return self._send_once(method.name, content, seconds)
            except (httpcore2.ReadError, httpcore2.WriteError, httpcore2.RemoteProtocolError) as error:
                if is_last:
                    raise TryAgain(
                        f"The memory service at {self._place} broke off: {error}.", reason="store"
                    ) from error
            except httpcore2.ConnectError as error:
                raise TryAgain(
                    f"The memory service does not answer at {self._place}. Start `memshare up`, or `memshare worker"
                    " memory`; on another machine, set MEMSHARE_MEMORY_URL.",
                    reason="store",
                ) from error
            except httpcore2.TimeoutException as error:
                raise TryAgain(
                    f"The memory service at {self._place} did not answer within {seconds:.0f} s.", reason="store"
                ) from error
        raise AssertionError

    def _send_once(self, name: str, content: bytes, seconds: float) -> tuple[int, bytes]:
        timeout = {"connect": min(CONNECT_WITHIN, seconds), "pool": seconds}
        with self._pool.stream(
            "POST",
            f"{self._address}/{name}",
            headers=self._headers,
            content=content,
            extensions={"timeout": timeout},
        ) as response:
            body = bytearray()
            for part in response.iter_stream():
                body += part
                if len(body) > LARGEST_REPLY:
                    raise TryAgain(f"The reply of the server at {self._place} does not end.", reason="store")
            return response.status, bytes(body)
