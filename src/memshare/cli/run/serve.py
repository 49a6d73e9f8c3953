"""`memshare serve`: the page for people, and the REST door for agents of others."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from memshare.cli.options import Json
from memshare.client.address import PORT
from memshare.doors.backend import Backend
from memshare.doors.server import listen, run
from memshare.terminal.console import console, print_json
from memshare_broker.connection import wait_for_redis
from memshare_broker.observe.logs import set_up
from memshare_broker.settings import load_settings


def serve(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to serve; 0 takes a free one.")] = PORT,
    host: Annotated[str, typer.Option(help="Address to serve; others than this machine need a token.")] = "127.0.0.1",
    as_json: Json = False,
) -> None:
    """Serve the page for people, and REST and MCP for other agents, until Ctrl-C.

    Example: memshare serve --port 8780
    """
    settings = load_settings()
    set_up(settings.log_format)
    with contextlib.closing(Backend(settings)) as backend, listen(host, port) as listening:
        wait_for_redis(settings.redis)
        backend.check()
        place = f"[{host}]" if ":" in host else host
        url = f"http://{place}:{listening.getsockname()[1]}"
        has_token = backend.tokens.any()
        if as_json or settings.log_format == "json":
            print_json({"url": url, "tokens": has_token})
        else:
            console.print(f"Open {url} in a browser. {url}/docs describes REST. Ctrl-C ends it.", soft_wrap=True)
            if not has_token:
                console.print(
                    "There is no token yet, so only this user of this machine is served, and may do everything. "
                    "To serve others: memshare token create NAME --may recall,offer --pools POOL",
                    soft_wrap=True,
                )
        run(backend, listening)
