"""The resources of the MCP door: pools, agents and rubrics, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from pydantic import BaseModel, TypeAdapter

from memshare.client.errors import NotFound
from memshare.client.replies import AgentReply, PoolReply, RubricReply
from memshare.doors.backend import Backend
from memshare.doors.caller import Caller
from memshare.doors.calls import listings
from memshare_broker.errors import MemshareError

JSON = "application/json"


def add_resources(server: MCPServer[Any], backend: Backend, caller: Callable[[], Caller]) -> None:
    """Add all resources; `caller` says who asks now."""

    @server.resource("memshare://pools", title="Pools", mime_type=JSON)
    def pools() -> str:
        """Your pools: how many memories each has, and the agents that share it."""
        with _told():
            return _json(PoolReply, listings.pools(backend, caller()))

    @server.resource("memshare://agents", title="Agents", mime_type=JSON)
    def agents() -> str:
        """The agents of your pools, the kinds of tasks that each takes, and how many workers serve it."""
        with _told():
            return _json(AgentReply, listings.agents(backend, caller()))

    @server.resource("memshare://rubrics", title="Rubrics", mime_type=JSON)
    def rubrics() -> str:
        """How the answers of your pools are graded: criteria, points, and from which total on they are remembered."""
        with _told():
            return _json(RubricReply, listings.rubrics(backend, caller()))

    @server.resource("memshare://pools/{name}", title="Pool", mime_type=JSON)
    def pool(name: str) -> str:
        """One of your pools."""
        with _told():
            for one in listings.pools(backend, caller()):
                if one.name == name:
                    return one.model_dump_json()
            raise NotFound(f"No pool is called {name!r}.")

    @server.resource("memshare://rubrics/{name}", title="Rubric", mime_type=JSON)
    def rubric(name: str) -> str:
        """One rubric: read it before you answer, and you know what is asked for."""
        with _told():
            return listings.rubric(backend, caller(), name).model_dump_json()


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except NotFound as error:
        raise ResourceNotFoundError(str(error)) from error
    except MemshareError as error:
        raise ResourceError(str(error)) from error


def _json(kind: type[BaseModel], found: Sequence[BaseModel]) -> str:
    return TypeAdapter(list[kind]).dump_json(list(found)).decode()  # type: ignore[valid-type]
