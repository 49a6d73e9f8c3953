"""The table of calls with what answers them: REST, MCP and pages are made of it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from memshare import operations
from memshare.client.rest.call import Call
from memshare.operations.serving import SERVED, TOOLS, Tool

FIRST = ("sharing", "journeys", "memories", "what there is")
"""The headings that come first; the others follow by name."""


def served() -> dict[Call[Any], Callable[..., Any]]:
    """Every call, in the order of the documentation, with the function that answers it."""
    _find()
    return dict(sorted(SERVED.items(), key=lambda one: _place(one[0])))


def tools() -> list[Tool]:
    """Every tool, in the same order."""
    _find()
    return sorted(TOOLS, key=lambda one: _place(one.call))


def _place(call: Call[Any]) -> tuple[int, str, int]:
    heading = call.heading
    return (FIRST.index(heading), "", call.number) if heading in FIRST else (len(FIRST), heading, call.number)


def _find() -> None:
    for module in iter_modules(operations.__path__, f"{operations.__name__}."):
        import_module(module.name)
