"""Traces: when there are any, and which ids they have."""

import logging
import sys
import threading
from uuid import uuid4

import pytest
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from memshare_broker.errors import BadInput
from memshare_broker.observe import tracing
from memshare_broker.observe.tracing_sdk import Sdk, _Evenly


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, False),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_there_are_traces_only_where_the_variables_ask_for_them(environment: dict[str, str], wanted: bool) -> None:
    assert tracing.wanted(environment) is wanted


def test_the_id_of_a_trace_is_the_one_of_its_journey() -> None:
    journey = uuid4()

    assert tracing.ids_of(str(journey)).trace_id == journey.int
    assert tracing.ids_of(str(journey)).span_id == tracing.ids_of(str(journey)).span_id
    assert tracing.ids_of(str(journey)).span_id != tracing.ids_of(str(uuid4())).span_id


def test_a_journey_whose_id_is_no_uuid_has_a_trace_too() -> None:
    assert tracing.ids_of("lamp-1") == tracing.ids_of("lamp-1")
    assert tracing.ids_of("lamp-1").is_valid


def test_a_share_of_the_journeys_is_sampled_though_their_ids_are_uuids() -> None:
    plain = TraceIdRatioBased(0.2)
    even = _Evenly(ParentBased(plain))
    traces = [uuid4().int for _ in range(2_000)]

    def sampled(sampler) -> int:
        return sum(sampler.should_sample(None, one, "journey").decision.is_sampled() for one in traces)

    assert sampled(plain) == 0
    assert 300 < sampled(even) < 500


def test_an_exporter_that_there_is_not_is_refused_by_its_name() -> None:
    with pytest.raises(BadInput, match="zipkin"):
        Sdk("zipkin")


def test_an_exporter_of_logs_that_there_is_not_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_LOGS_EXPORTER", "zipkin")

    with pytest.raises(BadInput, match="zipkin"):
        Sdk("console")


def forget_the_exporter() -> None:
    tracing._sdk.cache_clear()
    tracing._made.cache_clear()


def test_threads_at_their_first_task_make_one_exporter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    forget_the_exporter()
    together, found = threading.Barrier(16), []

    def first() -> None:
        together.wait()
        found.append(tracing._sdk())

    threads = [threading.Thread(target=first) for _ in range(16)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        tracing.end()
    finally:
        forget_the_exporter()

    assert len(found) == 16
    assert len(set(map(id, found))) == 1


def test_without_the_packages_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setitem(sys.modules, "memshare_broker.observe.tracing_sdk", None)
    forget_the_exporter()
    try:
        with caplog.at_level(logging.WARNING):
            for _ in range(2):
                with tracing.stage("lamp-1", "score", {}, {}), tracing.span("recall"):
                    tracing.note({"memshare.outcome": "done"})
    finally:
        forget_the_exporter()

    assert [line for line in caplog.messages if ".[otel]" in line] == caplog.messages
    assert len(caplog.messages) == 1
