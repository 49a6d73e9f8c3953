"""Agents that answer tasks from queues and share what worked."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memshare.client.client import Client
    from memshare.client.errors import Conflict, Forbidden, NotFound, NoToken, Stale, TooLarge
    from memshare.client.rest.task import AsyncMemory, Memory
    from memshare_broker.errors import BadInput, GiveUp, MemshareError, QueueFull, TryAgain, Unreachable
    from memshare_memory.curate.requests import Edit, Forget, NewMemory
    from memshare_memory.door.messages import SearchRequest
    from memshare_memory.stores.store import Where

__all__ = [
    "AsyncMemory",
    "BadInput",
    "Client",
    "Conflict",
    "Edit",
    "Forbidden",
    "Forget",
    "GiveUp",
    "Memory",
    "MemshareError",
    "NewMemory",
    "NoToken",
    "NotFound",
    "QueueFull",
    "SearchRequest",
    "Stale",
    "TooLarge",
    "TryAgain",
    "Unreachable",
    "Where",
]

_ELSEWHERE = {
    "AsyncMemory": "memshare.client.rest.task",
    "Client": "memshare.client.client",
    "Memory": "memshare.client.rest.task",
    "SearchRequest": "memshare_memory.door.messages",
    "Where": "memshare_memory.stores.store",
    **dict.fromkeys(["Edit", "Forget", "NewMemory"], "memshare_memory.curate.requests"),
    **dict.fromkeys(["Conflict", "Forbidden", "NoToken", "NotFound", "Stale", "TooLarge"], "memshare.client.errors"),
}


def __getattr__(name: str) -> object:
    """A public name, imported when it is first asked for: every worker and command imports this module."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_ELSEWHERE.get(name, "memshare_broker.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
