"""The environment of the processes that a command starts."""

from __future__ import annotations

import os

from memshare.broker.settings import Settings


def environment_of(settings: Settings) -> dict[str, str]:
    """This process's environment, with the places that these settings name in place of its own."""
    environment = os.environ | {"MEMSHARE_DATA": str(settings.data)}
    for name in ("redis_url", "qdrant_url", "memory_url", "exports"):
        variable, value = f"MEMSHARE_{name.upper()}", getattr(settings, name)
        environment.pop(variable, None)
        if value:
            environment[variable] = str(value)
    return environment
