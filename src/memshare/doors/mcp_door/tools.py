"""The tools of the MCP door: functions of the doors, described for a model."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from memshare.doors.backend import Backend
from memshare.doors.caller import Caller
from memshare.doors.serving import Tool
from memshare.doors.table import tools


def add_tools(server: MCPServer[Any], backend: Backend, caller: Callable[[], Caller]) -> None:
    """Add all tools; `caller` says who asks now."""
    for tool in tools():
        server.add_tool(
            _bound(tool, backend, caller),
            title=tool.title,
            description=inspect.getdoc(tool.function),
            annotations=ToolAnnotations(**tool.hints),
        )


def _bound(tool: Tool, backend: Backend, caller: Callable[[], Caller]) -> Callable[..., Any]:
    """A function as a model calls it: for whoever asks now, with the other parameters alone."""
    function = tool.function

    def bound(**arguments: Any) -> Any:
        return function(backend, caller(), **arguments)

    async def awaited(**arguments: Any) -> Any:
        return await function(backend, caller(), **arguments)

    made: Callable[..., Any] = functools.wraps(function)(awaited if inspect.iscoroutinefunction(function) else bound)
    made.__name__ = tool.name
    signature = inspect.signature(function, eval_str=True)
    parameters = list(signature.parameters.values())[2:]
    made.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return made
