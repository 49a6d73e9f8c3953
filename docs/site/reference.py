"""The pages of the reference, made from the code."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from pydantic import BaseModel, TypeAdapter
from typer.cli import get_docs_for_click
from typer.models import Context

import memshare
from memshare import AsyncMemory
from memshare.cli.main import GROUPS, load
from memshare.client.rest.methods import Calls
from memshare.doors.server import rest_app
from memshare.operate.metrics import SharedMetrics
from memshare.operations.backend import Backend
from memshare.operations.serving import served
from memshare_agents.roster import Agent
from memshare_broker import redis_server
from memshare_broker.app import MEMORY_QUEUE
from memshare_broker.connection import connect
from memshare_broker.delivery.hops import HOPS, Hop
from memshare_broker.settings import Settings
from memshare_broker.worker import CONCURRENCY, RUNNING
from memshare_memory.door.messages import RecallRequest
from memshare_scorer.rubric import Rubric

Schema = dict[str, Any]

LIBRARY = Path(memshare.__file__).parent / "demo" / "library"
BOUNDS = {"minimum": "from", "exclusiveMinimum": "over", "maximum": "to", "exclusiveMaximum": "under"}
FIRST = ("Client", "Memory", "AsyncMemory")


def reference_pages() -> dict[str, str]:
    """The pages by their names in the site."""
    return {
        "reference/commands.md": "\n".join(_commands()),
        "reference/files.md": "\n".join(_files()),
        "reference/messages.md": "\n".join(_messages()),
        "reference/metrics.md": "\n".join(_metrics()),
        "reference/python.md": "\n".join(_python()),
        "reference/rest.md": "\n".join(_rest()),
    }


def _commands() -> Iterator[str]:
    yield "# Commands\n\nEvery command has `--help`. Exit codes: 0 done, 1 failed, 2 bad input.\n"
    for group, names in GROUPS.items():
        yield f"## {group}\n"
        for name in names:
            command = load(name)
            yield get_docs_for_click(obj=command, ctx=Context(command), indent=2, name=name, call_prefix="memshare")


def _files() -> Iterator[str]:
    yield "# Agent and rubric files\n\nThe agent and the rubric of `memshare demo`, whole, to copy."
    yield "[Agents and rubrics](../agents.md) says where they go and who approves a rubric.\n"
    for title, file, model in (("An agent", "sql.toml", Agent), ("A rubric", "sql.rubric.toml", Rubric)):
        yield f"## {title}\n\n```toml\n{(LIBRARY / file).read_text(encoding='utf-8')}```\n"
        schema = model.model_json_schema()
        schema["properties"].pop("name")  # it is the file's
        schema["properties"].pop("folder", None)
        yield from _fields(schema)
        for name, part in schema["$defs"].items():
            yield f"### {name}\n\n{part.get('description', '')}\n"
            yield from _fields(part)


def _python() -> Iterator[str]:
    yield "# Python\n\n`from memshare import …`; [doors](../doors.md) shows these at work.\n"
    served()  # imports every group of calls
    groups = sorted((one for one in Calls.__subclasses__() if not issubclass(memshare.Memory, one)), key=_name)
    rest = [getattr(memshare, name) for name in memshare.__all__ if name not in FIRST]
    for one in [*(getattr(memshare, name) for name in FIRST), *groups, *rest]:
        yield f"## {one.__name__}\n\n{_doc(one)}\n"
        if issubclass(one, BaseModel):
            yield from _fields(one.model_json_schema())
        elif not issubclass(one, Exception):
            yield f"```python\n{one.__name__}{_signature(one)}\n```\n"
            for name, method in inspect.getmembers(one, inspect.isfunction):
                if not name.startswith("_"):
                    is_awaited = inspect.iscoroutinefunction(method) or (one is AsyncMemory and hasattr(method, "call"))
                    how = "await " if is_awaited else ""
                    yield f"### {one.__name__}.{name}\n\n```python\n{how}{name}{_signature(method)}\n```\n"
                    yield f"{_doc(method)}\n"


def _name(of: type) -> str:
    return of.__name__


def _messages() -> Iterator[str]:
    yield "# Messages\n\nThe Celery tasks with their queues, and the fields of the one argument that each takes: JSON."
    yield "[Doors](../doors.md#from-celery-without-the-package) shows how a client of Celery sends them.\n"
    yield "Anybody who reaches the queue may send a task for clients. The messages of all others are"
    yield "[signed](../trust.md): workers and `memshare` itself send them.\n"
    forms: dict[str, Schema] = {}
    for of_clients in (True, False):
        yield "## Tasks for clients\n" if of_clients else "## Tasks between workers\n"
        yield "| task | queue | takes |\n|---|---|---|"
        for name, queue, form in _tasks_for_clients() if of_clients else _tasks_of_workers():
            schema = form.json_schema() if isinstance(form, TypeAdapter) else form.model_json_schema()
            forms |= schema.pop("$defs", {})
            if "title" in schema:  # one form, and not any of several
                forms[schema["title"]] = schema
                schema = {"$ref": schema["title"]}
            yield f"| `{name}` | `{queue}` | {_form(schema)} |"
        yield ""
    yield "## Forms\n"
    for name, schema in sorted(forms.items()):
        yield f"### {name}\n\n{schema.get('description', '')}\n"
        yield from _fields(schema)


def _tasks_for_clients() -> Iterator[tuple[str, str, type[BaseModel] | TypeAdapter[Any]]]:
    """Name, queue and message of each task that anybody may send."""
    yield from (_task(hop) for hop in HOPS if hop.from_outside)
    yield "memory_service.recall", MEMORY_QUEUE, RecallRequest


def _tasks_of_workers() -> Iterator[tuple[str, str, type[BaseModel] | TypeAdapter[Any]]]:
    yield from (_task(hop) for hop in HOPS if not hop.from_outside)


def _task(hop: Hop[Any, Any]) -> tuple[str, str, type[BaseModel] | TypeAdapter[Any]]:
    at = hop.of("NAME")
    return at.task, at.queue, at.message


def _metrics() -> Iterator[str]:
    yield "# Metrics\n\n[Watching](../watching.md) says who serves them.\n"
    shared = [
        (f"{one.name}_total" if one.type == "counter" else one.name, one.type, one._labelnames, one.documentation)
        for one in _shared_metrics()
        if isinstance(one, CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily)
    ]
    own = [(name, "gauge", (), about) for name, about in (RUNNING, CONCURRENCY)]
    for title, found in (
        ("Of all workers: `memshare metrics`", shared),
        ("Of one worker: `MEMSHARE_METRICS_PORT`", own),
    ):
        yield f"## {title}\n\n| metric | type | labels | what it is |\n|---|---|---|---|"
        for name, kind, labels, about in found:
            yield f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {about} |"
        yield ""


def _shared_metrics() -> list[Metric]:
    """What is told of a Redis in which nothing is yet: every metric, without samples."""
    with TemporaryDirectory() as folder:
        server = redis_server.start(Path(folder))
        try:
            with connect(redis_server.socket_url(Path(folder)), tries=8) as client:
                client.ping()
                return list(SharedMetrics(client).collect())
        finally:
            server.terminate()
            server.wait()


def _doc(of: object) -> str:
    """What an object says of itself; an example in it stands at the end, as code."""
    text, example, code = (inspect.getdoc(of) or "").partition(">>> ")
    return f"{text}```python\n{example}{code}\n```" if example else text


def _signature(of: Callable[..., object]) -> str:
    signature = inspect.signature(of)
    shown = [one for one in signature.parameters.values() if one.name != "self"]
    text = str(signature.replace(parameters=shown)).replace("'", "").removesuffix(" -> None")
    return text if len(text) < 80 else text.replace("(", "(\n    ", 1).replace(", ", ",\n    ")


def _rest() -> Iterator[str]:
    described = rest_app(Backend(Settings())).openapi()
    yield f"# REST\n\n{described['info']['description']}"
    yield "[Doors](../doors.md) shows these at work; a running `memshare serve` has `/openapi.json`.\n"
    for path, calls in described["paths"].items():
        for method, call in calls.items():
            yield f"## {method.upper()} {path}\n\n{call['description']}\n"
            if asked := call.get("parameters"):
                yield "| parameter | in | form | what it is |\n|---|---|---|---|"
                yield from (
                    f"| `{one['name']}` | {one['in']} | {_form(one['schema'])} | {_what(one)} |" for one in asked
                )
                yield ""
            if body := call.get("requestBody"):
                yield f"Body: {_form(body['content']['application/json']['schema'])}\n"
            yield "".join(
                f"{status}: {_form(content['schema'])}\n"
                for status, reply in call["responses"].items()
                if (content := reply.get("content", {}).get("application/json")) and "schema" in content
            )
    yield "# Forms and replies\n"
    for name, schema in described["components"]["schemas"].items():
        yield f"## {name}\n\n{schema.get('description', '')}\n"
        yield from _fields(schema)


def _fields(schema: Schema) -> Iterator[str]:
    """A table of an object's fields."""
    if fields := schema.get("properties"):
        yield "| field | form | default | what it is |\n|---|---|---|---|"
        for name, field in fields.items():
            default = "needed" if name in schema.get("required", ()) else f"`{json.dumps(field.get('default'))}`"
            yield f"| `{name}` | {_form(field)} | {default} | {_what(field)} |"
        yield ""


def _what(field: Schema) -> str:
    return str(field.get("description", "")).replace("\n", " ").replace("|", "\\|")


def _form(schema: Schema) -> str:
    """What a JSON schema lets through, in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if either := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_form(one) for one in either)
    if among := schema.get("enum") or ([schema["const"]] if "const" in schema else None):
        return ", ".join(f"`{json.dumps(one)}`" for one in among)
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {_form(schema.get('items', {}))}"
    bounds = [f"{words} {schema[key]:g}" for key, words in BOUNDS.items() if key in schema]
    return ", ".join([kind, *bounds])
