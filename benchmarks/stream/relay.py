"""Passes the calls of a benchmark on to the servers of its models, and keeps what was sent and what it took."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

LONGEST_CALL = 121.0  # seconds; whoever asked has given up by then, and the server is to know
SAID_AGAIN = ("content-type", "retry-after")


class Relay:
    """Takes requests for models of several servers at one address, `url`; each goes to the server of its model."""

    def __init__(self, servers: Mapping[str, str], port: int) -> None:
        self.servers = servers
        self.url = f"http://127.0.0.1:{port}/v1"
        self.spent: dict[str, int] = defaultdict(int)
        self.sent: dict[str, list[str]] = {}
        """By the last turn of each call for an answer: all of its texts."""
        self._lock = threading.Lock()

    def note(self, body: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        """Keep what was sent, and count what it took."""
        usage = reply.get("usage") or {}
        is_answer = not ("response_format" in body or body.get("logprobs"))
        with self._lock:
            if is_answer:
                texts = [str(turn["content"]) for turn in body["messages"]]
                self.sent[texts[-1]] = texts
            self.spent["calls" if is_answer else "other calls"] += 1
            self.spent["tokens"] += usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)
            self.spent["prompt tokens"] += usage.get("prompt_tokens", 0)
            self.spent["cached"] += (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0

    def assert_sent(self, prompt: str, shown: list[str]) -> None:
        """Raises `AssertionError` where an answer that was shown was not in what the model was sent for a prompt."""
        texts = self.sent[prompt]
        missing = [one for one in shown if one not in texts]
        assert not missing, f"{prompt!r} was sent without {missing[0]!r}"


@contextmanager
def relaying(servers: Mapping[str, str]) -> Iterator[Relay]:
    """A relay runs while the block does; `servers` has the address of each model's, which ends with /v1."""
    client = httpx.Client(timeout=LONGEST_CALL, limits=httpx.Limits(max_connections=None))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._pass_on(b"")

        def do_POST(self) -> None:
            self._pass_on(self.rfile.read(int(self.headers.get("content-length") or 0)))

        def _pass_on(self, body: bytes) -> None:
            asked = json.loads(body) if body else {}
            server = servers.get(asked.get("model", ""), next(iter(servers.values()))).removesuffix("/v1")
            named = {"content-type": "application/json"} | (
                {"authorization": key} if (key := self.headers.get("authorization")) else {}
            )
            try:
                reply = client.request(self.command, server + self.path, content=body, headers=named)
            except httpx.HTTPError:
                self.close_connection = True  # as it would be without a relay
                return
            if reply.is_success and self.path.endswith("/chat/completions"):
                relay.note(asked, reply.json())
            self.send_response(reply.status_code)
            for name in SAID_AGAIN:
                if name in reply.headers:
                    self.send_header(name, reply.headers[name])
            self.send_header("content-length", str(len(reply.content)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # who asked has given up
                self.wfile.write(reply.content)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its name there
            pass

    with client, ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        relay = Relay(servers, server.server_port)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield relay
        server.shutdown()
