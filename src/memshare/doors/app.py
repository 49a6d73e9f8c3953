"""The REST door, and MCP beside it, as an ASGI app."""

from __future__ import annotations

from threading import Lock
from typing import Any

from fastapi import FastAPI

from memshare.doors.backend import Backend
from memshare.doors.body import LARGEST_BODY
from memshare.doors.entrance import Entrance
from memshare.doors.health import health_routes
from memshare.doors.mcp_door.http import McpDoor
from memshare.doors.pages.routes import page_routes
from memshare.doors.problems import Problem, add_handlers
from memshare.doors.routes.calls import call_routes
from memshare.doors.this_machine import is_same_user

DESCRIPTION = """\
Three calls make any agent part of the pool: recall before, offer after, feedback when the outcome is known.
What comes in is graded, settled once, credited and learnt from. A token's name stands as the submitter of all that it
brings in, and a token sees its own pools alone: what is not yours is a 404.
"""


def rest_app(backend: Backend) -> FastAPI:
    """The app; it closes nothing that it is given."""
    mcp = McpDoor(backend, LARGEST_BODY)
    app = FastAPI(
        title="memshare",
        version="1",
        description=DESCRIPTION,
        docs_url=None,  # its own page loads scripts from a public network
        redoc_url=None,
        redirect_slashes=False,
        lifespan=mcp.lifespan,
    )
    app.state.backend, app.state.is_same_user = backend, is_same_user
    app.add_middleware(Entrance, backend=backend)
    add_handlers(app)
    app.router.routes += [*call_routes(), mcp.route, *health_routes(backend.health), *page_routes(backend)]

    described, one_at_a_time = app.openapi, Lock()

    def with_problem() -> dict[str, Any]:
        with one_at_a_time:
            schema = described()
        schema["components"]["schemas"].setdefault("Problem", Problem.model_json_schema())
        return schema

    app.openapi = with_problem  # type: ignore[method-assign]
    return app
