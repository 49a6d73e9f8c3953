"""Attacks on the doors of a deployment, at random and until SIGTERM; says at the end how many of each there were.

It runs as a process of its own, so that what it takes of a processor is not that of who measures.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx2
import redis

from tests.support.raw_http import address_of

PATHS = ("recall", "pairs", "feedback", "tasks", "memories", "memories/search", "journeys/1", "pools", "nothing", "")
METHODS = ("POST", "POST", "POST", "GET", "PATCH", "DELETE", "PUT", "OPTIONS")
FIELDS = ("agent", "pool", "prompt", "answer", "kind", "k", "recall_id", "reward", "memories", "messages", "format",
          "submitter", "model", "idempotency_key", "shown", "text", "limit", "cursor", "among")  # fmt: skip
QUEUES = ("poem", "logic", "scorer", "memory", "trainer", "concepts")
TASKS = ("agents.poem", "scorer.score", "scorer.offer", "memory_service.settle", "retriever_trainer.learn", "os.system")
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 3, 10**30, 1e308, "", "poem", "logic", "x" * 30_000, "\x00\x1b[2J\u202e", "\ud800", "../../etc",
    "[red]", "{{7*7}}", [], {}, [[[]]], ["a"] * 300, {"id": "1", "share": 1.0}, str(uuid4()),
)  # fmt: skip
SLOW_CONNECTIONS = 50
PAUSE = 0.05  # seconds between two blows of one attacker


class Attackers:
    """Each attack is a method, and strikes once."""

    def __init__(self, url: str, token: str, redis_url: str) -> None:
        self._http = httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=20)
        self._address = address_of(url)
        self._redis = redis.Redis.from_url(redis_url)
        self._token = token
        self._chance = random.Random(11)
        self._slow: list[socket.socket] = []

    def fuzzed_rest(self) -> None:
        method, path = self._chance.choice(METHODS), self._chance.choice(PATHS)
        self._http.request(method, f"/v1/{path}", content=self._body(), headers={"Content-Type": "application/json"})

    def fuzzed_mcp(self) -> None:
        method = self._chance.choice(("tools/call", "tools/list", "initialize", "resources/read", "nothing"))
        name = self._chance.choice(("recall", "offer", "feedback", "forget", "nothing"))
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": name, "arguments": self._fields()}}
        accepted = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        body = json.dumps(call).encode() if self._chance.random() < 0.8 else self._body()
        self._http.post("/mcp", content=body, headers=accepted)

    def hostile_messages(self) -> None:
        headers = {"lang": "py", "task": self._chance.choice(TASKS), "id": str(uuid4()), "retries": 0}
        body = json.dumps([[self._fields()], {}, {}])
        envelope = {
            "body": body,
            "headers": headers,
            "content-type": "application/json",
            "content-encoding": "utf-8",
            "properties": {"delivery_tag": str(uuid4()), "delivery_info": {"exchange": "", "routing_key": "x"}},
        }
        text = json.dumps(envelope).encode() if self._chance.random() < 0.7 else self._chance.randbytes(300)
        self._redis.lpush(self._chance.choice(QUEUES), text)

    def slow_connections(self) -> None:
        """One more connection that sends a header byte by byte; all of them send their next one."""
        if len(self._slow) < SLOW_CONNECTIONS:
            opened = socket.create_connection(self._address, timeout=5)
            opened.sendall(b"POST /v1/recall HTTP/1.1\r\nHost: a\r\nX: ")
            self._slow.append(opened)
        for one in list(self._slow):
            try:
                one.sendall(b"x")
            except OSError:
                one.close()
                self._slow.remove(one)

    def endless_headers(self) -> None:
        with socket.create_connection(self._address, timeout=5) as opened, contextlib.suppress(OSError):
            opened.sendall(b"GET / HTTP/1.1\r\n")
            for number in range(200):
                opened.sendall(b"X-%d: %s\r\n" % (number, b"y" * 8_000))

    def broken_off_bodies(self) -> None:
        with socket.create_connection(self._address, timeout=5) as opened, contextlib.suppress(OSError):
            token = self._token.encode()
            opened.sendall(
                b"POST /v1/pairs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token + b"\r\n"
                b"Content-Type: application/json\r\nContent-Length: 900000\r\n\r\n" + b"[" * 5_000
            )

    def long_recalls(self) -> None:
        self._http.post("/v1/recall", json={"pool": "logic", "prompt": "word " * 4_000, "k": 50})

    def slow_computations(self) -> None:
        self._http.get(f"/v1/{self._chance.choice(('concepts', 'duplicates'))}/logic")

    def wrong_tokens(self) -> None:
        self._http.get("/v1/pools", headers={"Authorization": f"Bearer msh_{uuid4().hex}"})

    def crowding_tasks(self) -> None:
        self._http.post("/v1/tasks", json={"agent": "logic", "prompt": f"Crowd {uuid4().hex}.", "remember": False})

    def forms_without_end(self) -> None:
        self._http.post(
            "/sign-in", content=b"a=1&" * 3_000, headers={"Content-Type": "application/x-www-form-urlencoded"}
        )

    def _fields(self) -> dict[str, Any]:
        chosen = self._chance.sample(FIELDS, self._chance.randint(0, 6))
        return {name: self._chance.choice(VALUES) for name in chosen}

    def _body(self) -> bytes:
        kind = self._chance.random()
        if kind < 0.1:
            return self._chance.randbytes(500)
        if kind < 0.15:
            return b"[" * 50_000
        return json.dumps(self._fields()).encode()


def strike(blow: Callable[[], None], counts: Counter[str], over: threading.Event) -> None:
    """One attack, again and again; a door that is shut is what it may meet."""
    while not over.wait(PAUSE):
        try:
            blow()
            counts[blow.__name__] += 1
        except (httpx2.HTTPError, OSError, redis.RedisError) as error:
            counts[type(error).__name__] += 1


def main() -> None:
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    made, counts = Attackers(*sys.argv[1:4]), Counter[str]()
    blows = (
        made.fuzzed_rest, made.fuzzed_mcp, made.hostile_messages, made.slow_connections, made.endless_headers,
        made.broken_off_bodies, made.long_recalls, made.slow_computations, made.wrong_tokens, made.crowding_tasks,
        made.forms_without_end,
    )  # fmt: skip
    threads = [threading.Thread(target=strike, args=(blow, counts, over), daemon=True) for blow in blows]
    for thread in threads:
        thread.start()
    over.wait()
    for thread in threads:
        thread.join(30)
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
