"""The tools whose files are read: for each a function from a record to steps of traces and scores of them."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from memshare.files.graded.runs import DEEPEST, NO_RUN, GivenScore, GradedRun, Record, TraceStep, moment, runs_of
from memshare.files.json_lines import ANSWER, PROMPT, refuse
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import one_line
from memshare_broker.wire.messages import derived_id

Source = Literal["langfuse", "langsmith", "phoenix", "otlp", "openai-evals", "table"]
Read = Iterator[TraceStep | GivenScore]

_EVALUATION = "gen_ai.evaluation."
_ASKED = ("gen_ai.input.messages", "llm.input_messages", "input.value", "gen_ai.prompt", "traceloop.entity.input")
_SAID = (
    "gen_ai.output.messages",
    "llm.output_messages",
    "output.value",
    "gen_ai.completion",
    "traceloop.entity.output",
)
_TOOLS = ("TOOL", "tool", "execute_tool")
_NO_SCORES = frozenset({"tags", "comments", "observations", "scores", "tool_calls", "toolCalls", "toolCallNames"})
"""Lists in a record of Langfuse that are no scores: any other has the values of the score of its name."""


def graded_runs(
    records: Iterable[tuple[int, Record | BadInput]], source: Source, name: str = "the file"
) -> list[GradedRun]:
    """The runs of numbered records of a source, and the wrong rows; raises `BadInput` where no other is one of it."""
    try:
        every = list(records)
        rows = [(line, one) for line, one in every if not isinstance(one, BadInput)]
        found = [
            one._replace(place=f"line {line}") if source == "table" and isinstance(one, TraceStep) else one
            for line, record in rows
            for one in _READ[source](record)
        ]
        runs = list(runs_of(found))
    except RecursionError as error:
        raise BadInput(f"Nothing was imported: lists or objects stand in each other too deep in {name}.") from error
    wrong = [(line, str(one)) for line, one in every if isinstance(one, BadInput)]
    if not runs:
        begins = "The file" if name == "the file" else name
        expected = (_READ[source].__doc__ or "").removesuffix(".")
        if source == "table" and rows:
            columns = ", ".join(one_line(repr(name)) for name in [*rows[0][1]][:20])
            said = f"{begins} has the columns {columns}. Expected is {expected}."
        elif source == "table":
            has = "no rows that can be read" if wrong else "a header and no rows"
            said = f"{begins} has {has}. Expected is {expected}."
        else:
            said = f"No run of {source} stands in {name}. Each record is expected to be: {expected}."
        refuse([said, *(f"{name}:{line}: {fault}" for line, fault in wrong)], "Nothing was imported.")
    return runs + [NO_RUN._replace(places=[f"line {line}"], fault=fault) for line, fault in wrong]


def _langfuse(record: Record) -> Read:
    """a trace or an observation with 'id', 'input' and 'output', or a score of one."""
    if isinstance(record.get("trace"), dict):  # the page's file of one trace
        record = {**record["trace"], **record}
    one = {_camel(name): value for name, value in record.items()}  # exports to blob storage have snake_case
    trace, subject = _text(one, "traceId"), one.get("subject")
    if "dataType" in one:
        about = subject.get("id") if isinstance(subject, dict) else _text(one, "observationId") or trace
        is_number = one["dataType"] != "CATEGORICAL" and one.get("value") is not None
        yield GivenScore(str(about), str(one.get("name")), one["value"] if is_number else one.get("stringValue"))
    elif (name := _text(one, "id")) and one.keys() & {"input", "output"}:
        is_tool = str(one.get("type")).upper() == "TOOL" or bool(one.get("toolCalls"))
        parent = _text(one, "parentObservationId") or (trace if trace != name else "")
        at = moment(one.get("timestamp") or one.get("startTime"))
        model = one.get("providedModelName") or one.get("model")
        yield TraceStep(name, trace or name, parent, one.get("input"), one.get("output"), record, at, model, is_tool)
        for column, values in record.items():
            if isinstance(values, list) and column not in _NO_SCORES:
                yield from (GivenScore(name, column, value) for value in values)
        for inner in (*_dicts(one.get("scores")), *_dicts(one.get("observations"))):
            yield from _langfuse({"traceId": name, **inner})


def _langsmith(record: Record) -> Read:
    """a run with 'inputs' and 'outputs', an example of a dataset, or a feedback with 'run_id', 'key' and 'score'."""
    if "key" in record:
        value = record.get("value") if record.get("score") is None else record["score"]
        yield GivenScore(_text(record, "run_id") or _text(record, "trace_id"), str(record["key"]), value)
    elif isinstance(record.get("inputs"), dict):
        name = _text(record, "id") or str(derived_id("example", str(record["inputs"])))
        trace, parent = _text(record, "trace_id") or name, _text(record, "parent_run_id")
        model, is_tool = at_path(record, "extra.metadata.ls_model_name"), record.get("run_type") in _TOOLS
        at, said = moment(record.get("start_time")), record.get("outputs")
        yield TraceStep(name, trace, parent, record["inputs"], said, record, at, model, is_tool)
        stats = record.get("feedback_stats")
        for key, stat in (stats if isinstance(stats, dict) else {}).items():
            yield GivenScore(name, key, at_path(stat, "avg"))


def _phoenix(record: Record) -> Read:
    """a span with 'context' and 'attributes', or an annotation with 'span_id', 'name' and 'result'."""
    flat = _flat(record)  # a row of the client's data frame is flat, and a span is not
    if "annotator_kind" in flat:
        given = (flat.get(f"{place}{name}") for name in ("score", "label") for place in ("result.", ""))
        value = next((one for one in given if one is not None), None)
        yield GivenScore(_text(flat, "span_id") or _text(flat, "trace_id"), str(flat.get("name")), value)
    elif name := _text(flat, "context.span_id"):
        values = {key.removeprefix("attributes."): value for key, value in flat.items()}
        at, kind = moment(flat.get("start_time")), flat.get("span_kind")
        yield _span(name, _text(flat, "context.trace_id"), _text(flat, "parent_id"), values, at, kind)


def _otlp(record: Record) -> Read:
    """'resourceSpans' or 'resourceLogs', as OpenTelemetry's exporters to files write them."""
    for span in _of_scopes(record, "resourceSpans", "scopeSpans", "spans"):
        if not (name := _text(span, "spanId")):
            continue
        values = {"name": span.get("name")} | _attributes(span)
        at, kind = moment(span.get("startTimeUnixNano")), values.get("gen_ai.operation.name")
        yield _span(name, _text(span, "traceId"), _text(span, "parentSpanId"), values, at, kind)
        for event in _dicts(span.get("events")):
            yield from _evaluation(name, _attributes(event))
    for log in _of_scopes(record, "resourceLogs", "scopeLogs", "logRecords"):
        yield from _evaluation(_text(log, "spanId") or _text(log, "traceId"), _attributes(log))


def _evaluation(about: str, values: Mapping[str, Any]) -> Read:
    if f"{_EVALUATION}name" in values:
        value = values.get(f"{_EVALUATION}score.value", values.get(f"{_EVALUATION}score.label"))
        yield GivenScore(about, str(values[f"{_EVALUATION}name"]), value)


def _openai_evals(record: Record) -> Read:
    """an event of a recorder, with 'sample_id', 'type' and 'data'."""
    data, sample, kind = record.get("data"), _text(record, "sample_id"), record.get("type")
    if not isinstance(data, dict) or not sample:
        return
    name = f"{record.get('run_id')}/{sample}"
    if kind == "sampling":  # the first of a sample is its answer; later ones may be a judge's
        said, at = data.get("sampled"), moment(record.get("created_at"))
        said = said[0] if isinstance(said, list) and said else said
        event = f"{name}/{record.get('event_id')}"
        yield TraceStep(event, name, "", data.get("prompt"), said, data | record, at, data.get("model"))
    elif kind == "match":
        yield GivenScore(name, "match", data.get("correct"))
    elif kind == "metrics":
        yield from (GivenScore(name, key, value) for key, value in data.items())


def _table(record: Record) -> Read:
    """a row with the columns 'prompt', 'question' or 'input', and 'answer', 'output', 'response' or 'completion'."""
    small = {name.casefold(): value for name, value in record.items()}
    if not all(small.keys() & set(names) for names in (PROMPT, ANSWER)):
        return
    asked, said = (next(small[name] for name in names if name in small) for names in (PROMPT, ANSWER))
    name = f"{_text(small, 'id') or 'row'} {str(derived_id('row', str(asked), str(said)))[:8]}"
    yield TraceStep(name, name, "", asked, said, record | small, None, small.get("model"))
    yield from (GivenScore(name, column, value) for column, value in record.items())


_READ: Mapping[Source, Callable[[Record], Read]] = {
    "langfuse": _langfuse,
    "langsmith": _langsmith,
    "phoenix": _phoenix,
    "otlp": _otlp,
    "openai-evals": _openai_evals,
    "table": _table,
}


def _span(name: str, trace: str, parent: str, values: Mapping[str, Any], at: float | None, kind: object) -> TraceStep:
    """A span by the conventions of GenAI, OpenInference or OpenLLMetry."""
    asked, said = (next(filter(None, (_of(values, key) for key in keys)), None) for keys in (_ASKED, _SAID))
    model = values.get("gen_ai.response.model") or values.get("llm.model_name")
    is_tool = kind in _TOOLS or values.get("openinference.span.kind") in _TOOLS
    return TraceStep(name, trace or name, parent, asked, said, values, at, model, is_tool)


def _of(values: Mapping[str, Any], key: str) -> object:
    """An attribute, or the list of turns that attributes such as `KEY.0.message.content` spell out."""
    turns: defaultdict[int, dict[str, Any]] = defaultdict(dict)
    for name, value in values.items():
        place, _, field = name.removeprefix(f"{key}.").partition(".")
        if name.startswith(f"{key}.") and place.isdecimal() and len(place) < 5:
            field = field.removeprefix("message.")
            turns[int(place)]["tool_calls" if field.startswith("tool_calls") else field] = value
    return values.get(key) or [turns[place] for place in sorted(turns)]


def at_path(record: object, path: str) -> Any:
    """A field, by its name or by names with dots; None where there is none."""
    if isinstance(record, Mapping) and path in record:
        return record[path]
    for name in path.split("."):
        record = record.get(name) if isinstance(record, Mapping) else None
    return record


def field_of(fields: Sequence[Mapping[str, Any]], path: str) -> str | None:
    """The text of a field in the first record that has it; of a list the first."""
    for one in fields:
        value = at_path(one, path)
        value = value[0] if isinstance(value, list) and value else value
        if isinstance(value, str | int | float) and str(value).strip('" '):
            return str(value).strip('" ')
    return None


def number_of(value: object) -> float | None:
    """A score as a number: of a verdict 1 or 0; None for what is no finite number."""
    if isinstance(value, str):
        if (word := value.strip().casefold()) in (*_GOOD, *_BAD):
            return float(word in _GOOD)
        value = re.sub(r"^(-?\d+),(\d\d?)$", r"\1.\2", word)  # a decimal comma: groups have three digits
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


_GOOD = ("true", "yes", "pass", "passed", "correct", "good", "👍")
_BAD = ("false", "no", "fail", "failed", "incorrect", "bad", "👎")


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _text(record: Mapping[str, Any], name: str) -> str:
    return str(value) if isinstance(value := record.get(name), str | int) else ""


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record whose objects' fields stand beside each other, under names with dots."""
    found, waiting = dict[str, Any](), [("", record)]
    while waiting:
        prefix, one = waiting.pop()
        for name, value in one.items():
            if isinstance(value, dict) and value:
                waiting.append((f"{prefix}{name}.", value))
            else:
                found[f"{prefix}{name}"] = value
    return found


def _of_scopes(record: Record, of_resource: str, of_scope: str, items: str) -> Iterator[dict[str, Any]]:
    for resource in _dicts(record.get(of_resource)):
        for scope in _dicts(resource.get(of_scope)):
            yield from _dicts(scope.get(items))


def _attributes(one: Mapping[str, Any]) -> dict[str, Any]:
    return {str(each.get("key")): _value(each.get("value")) for each in _dicts(one.get("attributes"))}


def _value(value: object, deep: int = 0) -> Any:
    """A value of OTLP's JSON as a plain one; what lies too deep is left out."""
    kind, inner = next(iter(value.items()), ("", None)) if isinstance(value, dict) else ("", None)
    values = _dicts(at_path(inner, "values")) if deep < DEEPEST else []
    if kind == "arrayValue":
        return [_value(one, deep + 1) for one in values]
    if kind == "kvlistValue":
        return {str(one.get("key")): _value(one.get("value"), deep + 1) for one in values}
    return inner
