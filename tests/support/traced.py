"""What is traced in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from memshare_broker.observe import tracing


@contextmanager
def traced(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Keeps every span while the block runs."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    for cached in (tracing._sdk, tracing._made):
        cached.cache_clear()
    kept = InMemorySpanExporter()
    sdk = tracing._sdk()
    assert sdk is not None
    sdk._provider.add_span_processor(SimpleSpanProcessor(kept))
    try:
        yield kept
    finally:
        tracing.end()
        for cached in (tracing._sdk, tracing._made):
            cached.cache_clear()


def named(kept: InMemorySpanExporter, name: str) -> ReadableSpan:
    """The one span of a name."""
    [found] = [span for span in kept.get_finished_spans() if span.name == name]
    return found
