"""`memshare mcp`: the shared memory as an MCP server, for a program that starts its servers itself."""

from __future__ import annotations

import contextlib

from memshare.doors.backend import Backend
from memshare.doors.mcp_door.server import find_caller, run_stdio
from memshare_broker.observe.logs import set_up
from memshare_broker.settings import load_settings


def mcp() -> None:
    """Serve the shared memory to a model by MCP on standard input and output, until the input ends.

    A program starts it, with the token in MEMSHARE_TOKEN. By a URL, it is /mcp of `memshare serve`.

    Example: claude mcp add memshare -- memshare mcp
    """
    settings = load_settings()
    token = settings.token.get_secret_value() if settings.token else None
    with contextlib.closing(Backend(settings)) as backend:
        backend.check()
        find_caller(backend, token)
        set_up(settings.log_format)
        run_stdio(backend, token)
