"""OpenTelemetry's SDK, which only those who export traces need to have."""

from __future__ import annotations

import os
import time
from contextvars import ContextVar
from typing import Any

from opentelemetry import trace
from opentelemetry._logs import LogRecord
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from opentelemetry.trace import SpanContext, SpanKind, StatusCode

from memshare_broker.errors import BadInput

_NAMED: ContextVar[SpanContext | None] = ContextVar("memshare_root_span", default=None)


class Sdk:
    """Makes spans and exports them in the background, as the `OTEL_…` variables say."""

    def __init__(self, exporters: str) -> None:
        """Raises `BadInput` for an unknown exporter."""
        named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
        resource = Resource.create({} if named else {"service.name": "memshare"})
        self._provider = TracerProvider(resource=resource, id_generator=_Ids())
        self._provider.sampler = _Evenly(self._provider.sampler)
        for exporter in exporters.split(","):
            self._provider.add_span_processor(BatchSpanProcessor(_exporter(exporter.strip())))
        self.tracer = self._provider.get_tracer("memshare")
        self._logs = _log_provider(resource)

    def samples(self, trace_id: int) -> bool:
        """True if a trace is among those that are recorded."""
        result = self._provider.sampler.should_sample(None, trace_id, "journey")
        return result.decision is Decision.RECORD_AND_SAMPLE

    def root(self, ids: SpanContext, name: str, started: float | None, attributes: dict[str, Any]) -> None:
        """Export a root span with these ids, which ends now."""
        token = _NAMED.set(ids)
        try:
            at = None if started is None else int(started * 1e9)
            made = self.tracer.start_span(name, Context(), SpanKind.INTERNAL, attributes, start_time=at)
        finally:
            _NAMED.reset(token)
        if "error.type" in attributes:
            made.set_status(StatusCode.ERROR)
        made.end(max(time.time_ns(), at or 0))

    def log(self, of: SpanContext, name: str, attributes: dict[str, Any]) -> None:
        """Export an event of a span as a log record, where these are exported."""
        if self._logs is not None:
            there = trace.set_span_in_context(trace.NonRecordingSpan(of), Context())
            record = LogRecord(timestamp=time.time_ns(), context=there, attributes=attributes, event_name=name)
            self._logs.get_logger("memshare").emit(record)

    def shutdown(self) -> None:
        self._provider.shutdown()
        if self._logs is not None:
            self._logs.shutdown()


class _Ids(RandomIdGenerator):
    """Random ids, except for a root span."""

    def generate_trace_id(self) -> int:
        named = _NAMED.get()
        return super().generate_trace_id() if named is None else named.trace_id

    def generate_span_id(self) -> int:
        named = _NAMED.get()
        return super().generate_span_id() if named is None else named.span_id


class _Evenly(Sampler):
    """Samples by the upper half of a trace's id: in the lower half of a UUID, by which the SDK does, the first bits are
    always the same, and of a share of the traces it would take none or all."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler

    def should_sample(self, parent_context: Context | None, trace_id: int, *args: Any, **more: Any) -> SamplingResult:
        return self._sampler.should_sample(parent_context, trace_id >> 64, *args, **more)

    def get_description(self) -> str:
        return self._sampler.get_description()


def _log_provider(resource: Resource) -> LoggerProvider | None:
    """None unless variables ask for log records by themselves: many collectors of traces take none."""
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT")
    told = os.environ.get("OTEL_LOGS_EXPORTER", "").strip() or ("otlp" if endpoint else "none")
    if told == "none":
        return None
    if told != "otlp":
        raise BadInput(f"OTEL_LOGS_EXPORTER={told!r} cannot be used: expected otlp or none.")
    provider = LoggerProvider(resource)
    provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    return provider


def _exporter(name: str) -> SpanExporter:
    if name == "otlp":
        return OTLPSpanExporter()
    if name == "console":
        return ConsoleSpanExporter()
    raise BadInput(f"OTEL_TRACES_EXPORTER={name!r} cannot be used: expected otlp, console or none.")
