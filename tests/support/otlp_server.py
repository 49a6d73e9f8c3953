"""A receiver of traces and logs on loopback: it speaks OTLP over HTTP and keeps every span and log record."""

from __future__ import annotations

import contextlib
import gzip
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SentSpan


@dataclass(frozen=True)
class Event:
    """An event of a span, or a log record that is one, with the ids of its span in hexadecimal."""

    name: str
    attributes: dict[str, object]
    trace: str
    span: str


@dataclass(frozen=True)
class Span:
    """A span as it came; ids are in hexadecimal, `parent` is empty for a root, times are Unix times in seconds."""

    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, object]
    links: tuple[str, ...]
    failed: str | None
    started: float
    ended: float
    kind: str
    events: tuple[Event, ...]


class OtlpServer(ThreadingHTTPServer):
    """The receiver: `url` is what goes into OTEL_EXPORTER_OTLP_ENDPOINT."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self._spans: list[Span] = []
        self._logs: list[Event] = []
        self._lock = threading.Lock()

    @property
    def spans(self) -> list[Span]:
        with self._lock:
            return list(self._spans)

    @property
    def logs(self) -> list[Event]:
        with self._lock:
            return list(self._logs)

    def take_logs(self, body: bytes) -> None:
        request = ExportLogsServiceRequest.FromString(body)
        with self._lock:
            for of_resource in request.resource_logs:
                for of_scope in of_resource.scope_logs:
                    self._logs += [
                        Event(log.event_name, _attributes(log), log.trace_id.hex(), log.span_id.hex())
                        for log in of_scope.log_records
                    ]

    def take(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        with self._lock:
            for of_resource in request.resource_spans:
                for of_scope in of_resource.scope_spans:
                    self._spans += [_read(span) for span in of_scope.spans]


class _Handler(BaseHTTPRequestHandler):
    server: OtlpServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        taken = self.server.take_logs if self.path == "/v1/logs" else self.server.take
        taken(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: a test's output is its own."""


@contextlib.contextmanager
def receiving() -> Iterator[OtlpServer]:
    """A receiver that runs in this process while the block does."""
    server = OtlpServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="otlp-server")
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _read(span) -> Span:
    return Span(
        name=span.name,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        attributes=_attributes(span),
        links=tuple(link.trace_id.hex() for link in span.links),
        failed=span.status.message if span.status.code == 2 else None,
        started=span.start_time_unix_nano / 1e9,
        ended=span.end_time_unix_nano / 1e9,
        kind=SentSpan.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        events=tuple(Event(one.name, _attributes(one), span.trace_id.hex(), span.span_id.hex()) for one in span.events),
    )


def _attributes(of) -> dict[str, object]:
    return {one.key: _value(one.value) for one in of.attributes}


def _value(sent) -> object:
    which = sent.WhichOneof("value")
    return [_value(one) for one in sent.array_value.values] if which == "array_value" else getattr(sent, which)
