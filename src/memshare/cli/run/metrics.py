"""`memshare metrics`: what Prometheus reads."""

from __future__ import annotations

import contextlib
import threading
from typing import Annotated

import typer
from prometheus_client import CollectorRegistry, generate_latest, start_http_server

from memshare.cli.options import Json
from memshare.operate.metrics import SharedMetrics
from memshare.terminal.console import console, print_json
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput
from memshare_broker.observe.logs import set_up
from memshare_broker.settings import load_settings
from memshare_memory.belief.bandit import Bandit

REPLY_WITHIN = 3.0  # seconds for Redis; Prometheus itself waits ten


def metrics(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to serve /metrics on.")] = 9464,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    once: Annotated[bool, typer.Option("--once", help="Print the metrics and end.")] = False,
    as_json: Json = False,
) -> None:
    """Serve the metrics of all workers of one Redis to Prometheus until Ctrl-C. One for a Redis is enough.

    Example: memshare metrics --port 9464
    """
    set_up(load_settings().log_format)
    settings = load_settings()  # again, for what it has to say goes to the log
    registry = CollectorRegistry(auto_describe=False)
    client = connect(settings.redis, tries=0, timeout=REPLY_WITHIN)
    registry.register(SharedMetrics(client, Bandit(settings.alpha, settings.credit_half_life)))
    if once:
        _print(registry, as_json=as_json)
        return
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise BadInput(f"{host}:{port} cannot be listened on: {error.strerror}. Give another with --port.") from error
    url = f"http://{host}:{port}/metrics"
    if as_json or settings.log_format == "json":
        print_json({"ready": True, "url": url})
    else:
        console.print(f"Metrics on {url}. Ctrl-C ends it.")
    try:
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _print(registry: CollectorRegistry, *, as_json: bool) -> None:
    if not as_json:
        typer.echo(generate_latest(registry), nl=False)
        return
    samples = [sample for family in registry.collect() for sample in family.samples]
    print_json([{"name": one.name, "labels": one.labels, "value": one.value} for one in samples])
