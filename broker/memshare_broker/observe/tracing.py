"""Traces: one for each journey, over all its hops. Off unless the usual `OTEL_…` variables name an exporter.

The trace's id is the journey's, and the id of its root span is derived from it. So nothing has to travel with messages,
and retries, redeliveries and what the sweeper sends again are in the same trace.

Attributes are named by OpenTelemetry's conventions for generative AI (open-telemetry/semantic-conventions-genai).
Texts are among them only where `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for them on spans, and masked.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any
from uuid import UUID

from celery import signals
from celery.exceptions import Ignore
from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanContext, SpanKind, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from memshare_broker.errors import GiveUp, NotYet, TryAgain
from memshare_broker.observe.safe_text import masked
from memshare_broker.wire.grades import Score
from memshare_broker.wire.messages import Message, Turn, Usage, derived_id

if TYPE_CHECKING:
    from memshare_broker.observe.tracing_sdk import Sdk

log = logging.getLogger(__name__)

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
NOTHING: Attributes = {}
SERVER_FAULT = 500  # the first status of HTTP that is the server's own fault
_making = threading.Lock()


@contextmanager
def stage(journey: str, name: str, headers: Mapping[str, str], about: Attributes) -> Iterator[None]:
    """The span of one run of a stage, in the trace of its journey; linked with the client's own, if the message's
    headers name one (`traceparent`)."""
    sdk = _sdk()
    if sdk is None:
        yield
        return
    ids = ids_of(journey)
    client = trace.get_current_span(TraceContextTextMapPropagator().extract(headers)).get_span_context()
    flags = TraceFlags.SAMPLED if sdk.samples(ids.trace_id) else TraceFlags.DEFAULT
    parent = SpanContext(ids.trace_id, ids.span_id, is_remote=True, trace_flags=TraceFlags(flags))
    inside = trace.set_span_in_context(NonRecordingSpan(parent), Context())
    links = [Link(client)] if client.is_valid else []
    with _current(sdk, name, SpanKind.CONSUMER, {**about, "memshare.client.journey": journey}, inside, links):
        yield


@contextmanager
def span(name: str, about: Attributes = NOTHING, *, client: bool = False) -> Iterator[None]:
    """A step of the stage that runs in this thread; nothing where none does."""
    sdk = _sdk()
    if sdk is None or not trace.get_current_span().get_span_context().is_valid:
        yield
        return
    with _current(sdk, name, SpanKind.CLIENT if client else SpanKind.INTERNAL, about):
        yield


@contextmanager
def request(headers: Mapping[str, str], about: Attributes) -> Iterator[Callable[[str, int], None]]:
    """The span of a request that is answered here, in the trace of who asks, if its headers name one.

    Call what is yielded with the name of what was asked and the status of the answer.
    """
    sdk = _sdk()
    if sdk is None:
        yield lambda _name, _status: None
        return

    def answered(name: str, status: int) -> None:
        made = trace.get_current_span()
        made.update_name(name)
        made.set_attribute("http.response.status_code", status)
        if status >= SERVER_FAULT:
            made.set_status(StatusCode.ERROR)

    with _current(sdk, "request", SpanKind.SERVER, about, TraceContextTextMapPropagator().extract(headers, Context())):
        yield answered


def note(about: Attributes) -> None:
    """Attributes of the span that is current in this thread; None is left out."""
    if _sdk() is not None:
        trace.get_current_span().set_attributes(_attributes(about))


def event(journey: str, name: str, about: Attributes) -> None:
    """An event of the current span. Where log records are exported it is one, too, of the root span of the journey."""
    sdk, current = _sdk(), trace.get_current_span()
    if sdk is not None and current.is_recording():
        current.add_event(name, _attributes(about))
        sdk.log(ids_of(journey), name, _attributes(about))


def until(done: Future[Any], name: str, about: Attributes) -> None:
    """A step of another thread, from now on until it is done; nothing where nothing is traced."""
    sdk = _sdk()
    if sdk is not None and trace.get_current_span().get_span_context().is_valid:
        made = sdk.tracer.start_span(name, kind=SpanKind.CLIENT, attributes=_attributes(about))
        done.add_done_callback(functools.partial(_end, made))


def headers() -> dict[str, str]:
    """The headers by which whoever is asked goes on with the current trace; none where nothing is traced."""
    told: dict[str, str] = {}
    if _sdk() is not None:
        TraceContextTextMapPropagator().inject(told)
    return told


def continued(headers: Mapping[str, str]) -> AbstractContextManager[None]:
    """A block that goes on with the trace that a request's headers name, if they name one."""
    if _sdk() is None:
        return nullcontext()
    return _within(TraceContextTextMapPropagator().extract(headers, Context()))


def here() -> Callable[[], AbstractContextManager[None]]:
    """Remembers the span that is current, for work on its behalf in other threads: make it current there, too."""
    if _sdk() is None:
        return nullcontext
    return functools.partial(_within, context.get_current())


def root(journey: str, name: str, submitted: Callable[[], float | None], about: Attributes) -> None:
    """The root span of a trace, from the time at which the task was submitted (Unix time in seconds) until now."""
    sdk = _sdk()
    if sdk is not None:
        sdk.root(ids_of(journey), name, submitted(), _attributes({**about, "memshare.client.journey": journey}))


def ids_of(journey: str) -> SpanContext:
    """The ids of a journey's trace and of its root span; a journey that has no UUID for an id is given one."""
    try:
        trace_id = UUID(journey).int
    except ValueError:
        trace_id = derived_id(journey, "trace").int
    root = derived_id(journey, "root span").int & 0xFFFF_FFFF_FFFF_FFFF
    return SpanContext(trace_id, root, is_remote=False)


def end() -> None:
    """Send what has not been sent yet; nothing is traced after that."""
    if _sdk.cache_info().currsize and (sdk := _sdk()) is not None:
        sdk.shutdown()


def wanted(environment: Mapping[str, str]) -> bool:
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = environment.get("OTEL_TRACES_EXPORTER", "").strip()
    return exporter != "none" if exporter else any(environment.get(name) for name in ENDPOINTS)


@functools.cache
def _sdk() -> Sdk | None:
    """The exporter of this process, made when it is first used: in a forked child by the child itself.

    The cache lets threads that come together all in; the lock lets the first of them make it for the others.
    """
    with _making:
        return _made()


@functools.cache
def _made() -> Sdk | None:
    if not wanted(os.environ):
        return None
    try:
        from memshare_broker.observe.tracing_sdk import Sdk
    except ImportError:
        log.warning("OTEL_… asks for traces and needs more packages: pip install '.[otel]' where memshare was cloned.")
        return None
    signals.worker_shutdown.connect(lambda **_: end(), weak=False)
    signals.worker_process_shutdown.connect(lambda **_: end(), weak=False)
    return Sdk(os.environ.get("OTEL_TRACES_EXPORTER", "").strip() or "otlp")


@contextmanager
def _current(
    sdk: Sdk,
    name: str,
    kind: SpanKind,
    about: Attributes,
    parent: Context | None = None,
    links: list[Link] | None = None,
) -> Iterator[None]:
    with sdk.tracer.start_as_current_span(
        name,
        parent,
        kind,
        _attributes(about),
        links,
        record_exception=False,  # its text may hold a key
        set_status_on_exception=False,
    ) as made:
        try:
            yield
        except BaseException as error:
            fault = error.__cause__ if isinstance(error, Ignore) else error  # of what is set aside, to be tried again
            if fault is not None and not isinstance(fault, NotYet):  # that is no fault of its own
                _failed(made, fault)
            raise


def _failed(made: Span, fault: BaseException) -> None:
    made.set_attribute("error.type", fault.reason if isinstance(fault, TryAgain | GiveUp) else type(fault).__name__)
    made.set_status(StatusCode.ERROR, masked(str(fault)))


def _end(made: Span, done: Future[Any]) -> None:
    fault = CancelledError() if done.cancelled() else done.exception()
    if fault is not None:
        _failed(made, fault)
    made.end()


@contextmanager
def _within(there: Context) -> Iterator[None]:
    token = context.attach(there)
    try:
        yield
    finally:
        context.detach(token)


def _attributes(about: Attributes) -> dict[str, Any]:
    return {name: value for name, value in about.items() if value is not None}


Value = str | bool | int | float | Sequence[str] | None
Attributes = Mapping[str, Value]

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_ON_SPANS = frozenset({"true", "span_only", "span_and_event"})
_PROVIDERS = {"mistral": "mistral_ai"}  # where the conventions have another name
OWN = "memshare"  # the provider of an encoder, or an answer, that comes from no server


def takes_content() -> bool:
    """True if prompts, answers and memories are to stand in spans."""
    return os.environ.get(CONTENT, "").strip().lower() in _ON_SPANS


def operation(name: str, model: str) -> dict[str, Value]:
    """An operation on a model, which goes by `PROVIDER:NAME`, or by its name alone where it runs in this process."""
    provider, colon, rest = model.partition(":")
    return {
        "gen_ai.operation.name": name,
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider) if colon else OWN,
        "gen_ai.request.model": (rest if colon else model) or None,
    }


def tokens(usage: Usage | None) -> dict[str, Value]:
    """The tokens of calls; cached and reasoning ones where the provider told of any."""
    if usage is None:
        return {}
    return {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens or None,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens or None,
    }


def asked(turns: Iterable[Turn]) -> dict[str, Value]:
    """The turns of a prompt, where content is taken."""
    return _messages("input", [(turn.role, turn.content) for turn in turns])


def said(text: str) -> dict[str, Value]:
    """An answer that was not cut off, where content is taken."""
    return _messages("output", [("assistant", text)] if text else [], finish_reason="stop")


def invocation(agent: str, message: Message | None = None, record: Message | None = None) -> dict[str, Value]:
    """A run of an agent that ended with a record, or failed."""
    answer = getattr(record, "answer", "") or getattr(record, "question", "")
    return {
        **operation("invoke_agent", getattr(record, "model", "")),
        "gen_ai.agent.name": agent,
        **tokens(getattr(record, "usage", None)),
        **asked(getattr(message, "turns", ())),
        **said(answer),
    }


def retrieval(pool: str, k: int, query: str) -> dict[str, Value]:
    """A search for at most `k` memories of a pool."""
    return {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": pool,
        "gen_ai.retrieval.top_k": k,
        "gen_ai.retrieval.query.text": masked(query) if takes_content() else None,
    }


def retrieved(found: Iterable[tuple[str, float, str]]) -> dict[str, Value]:
    """The id, similarity and text of each memory that was found."""
    whole = takes_content()
    told = [{"id": name, "score": score} | ({"content": masked(text)} if whole else {}) for name, score, text in found]
    return {"gen_ai.retrieval.documents": json.dumps(told, ensure_ascii=False)}


def evaluations(score: Score) -> Iterator[dict[str, Value]]:
    """The grade, by its rubric's name, and the part of each criterion in it; all values are of 100."""
    verdict = "accepted" if score.accepted else "rejected"
    by = f"by {score.model}, rubric {score.rubric} ({score.rubric_version})"
    why = f"{score.total:g} of 100, and {score.threshold:g} is enough; {by}"
    yield _evaluation(score.rubric, score.total, why) | {"gen_ai.evaluation.score.label": verdict}
    for name, given in score.criteria.items():
        middle = 50 * (given.low + given.high) / given.points
        yield _evaluation(
            name, round(middle, 2), f"{given.low:.4g} to {given.high:.4g} of {given.points:.4g} points; {by}"
        )


def _evaluation(name: str, value: float, explanation: str) -> dict[str, Value]:
    return {
        "gen_ai.evaluation.name": name,
        "gen_ai.evaluation.score.value": value,
        "gen_ai.evaluation.explanation": explanation,
    }


def _messages(which: str, turns: Sequence[tuple[str, str]], **more: str) -> dict[str, Value]:
    if not turns or not takes_content():
        return {}
    parts = [(role, [{"type": "text", "content": masked(text)}]) for role, text in turns]
    told = [{"role": role, "parts": text, **more} for role, text in parts]
    return {f"gen_ai.{which}.messages": json.dumps(told, ensure_ascii=False)}
