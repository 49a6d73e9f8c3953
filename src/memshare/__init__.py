"""Agents that answer tasks from queues and share what worked."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memshare.broker.errors import BadInput, GiveUp, MemshareError, QueueFull, TryAgain, Unreachable
    from memshare.client import Client

__all__ = ["BadInput", "Client", "GiveUp", "MemshareError", "QueueFull", "TryAgain", "Unreachable"]


def __getattr__(name: str) -> object:
    """A public name, imported when it is first asked for: every worker and command imports this module."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module("memshare.client" if name == "Client" else "memshare.broker.errors"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
