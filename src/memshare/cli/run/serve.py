"""`memshare serve`: the page for people, and REST and MCP for agents of others; `memshare mcp` on standard input."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Annotated

import typer

from memshare.cli.options import Json
from memshare.client.rest.task import PORT
from memshare.doors.server import listen, run
from memshare.operate.supervisor import begin_command
from memshare.operations.backend import Backend
from memshare.terminal.console import console, print_json
from memshare_broker.connection import wait_for_redis
from memshare_broker.observe.logs import set_up
from memshare_broker.settings import load_settings


def serve(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to serve; 0 takes a free one.")] = PORT,
    host: Annotated[str, typer.Option(help="Address to serve; others than this machine need a token.")] = "127.0.0.1",
    agent: Annotated[
        list[str] | None,
        typer.Option(
            help="An agent that runs here; tasks for others are refused unless a worker serves them. Repeatable."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Serve the page for people, and REST and MCP for other agents, until Ctrl-C.

    Example: memshare serve --port 8780
    """
    set_up(load_settings().log_format)
    settings = load_settings()  # again, for what it has to say goes to the log
    with contextlib.ExitStack() as held:
        backend = held.enter_context(contextlib.closing(Backend(settings, agent, partial(begin_command, settings))))
        wait_for_redis(settings.redis, to_read=True)
        listening = held.enter_context(listen(host, port))  # late: who connects is answered
        backend.check()
        with backend.reaching():
            has_token = backend.tokens.any()
        place = f"[{host}]" if ":" in host else host
        url = f"http://{place}:{listening.getsockname()[1]}"
        if as_json or settings.log_format == "json":
            print_json({"url": url, "tokens": has_token})
        else:
            console.print(f"Open {url} in a browser. {url}/docs describes REST. Ctrl-C ends it.")
            if not has_token:
                console.print(
                    "There is no token yet, so only this user of this machine is served, and may do everything. "
                    "To serve others: memshare token create NAME --may admin --pools '*'"
                )
        run(backend, listening)


def mcp() -> None:
    """Serve the shared memory to a model by MCP on standard input and output, until the input ends.

    A program starts it, with the token in MEMSHARE_TOKEN. By a URL, it is /mcp of `memshare serve`.

    Example: claude mcp add memshare -- memshare mcp
    """
    from memshare.doors.mcp_server import find_caller, run_stdio  # serving by REST needs none of it

    settings = load_settings()
    token = settings.token.get_secret_value() if settings.token else None
    with contextlib.closing(Backend(settings)) as backend:
        backend.check()
        find_caller(backend, token)
        set_up(settings.log_format)
        run_stdio(backend, token)
