"""The environment of the processes that a command starts."""

from __future__ import annotations

import os

from pydantic import SecretStr

from memshare_broker.settings import Settings


def environment_of(settings: Settings) -> dict[str, str]:
    """This process's environment, with the places that these settings name in place of its own.

    What a file of settings said stands in it, too: the file may name places of another deployment.
    """
    environment = os.environ | {"MEMSHARE_DATA": str(settings.data)}
    environment.pop("MEMSHARE_CONFIG", None)
    for name in settings.model_fields_set - {"data", "config"}:
        if (value := getattr(settings, name)) is not None:
            environment.setdefault(f"MEMSHARE_{name.upper()}", _text(value))
    for name in ("redis_url", "qdrant_url", "memory_url", "exports"):
        variable, value = f"MEMSHARE_{name.upper()}", getattr(settings, name)
        environment.pop(variable, None)
        if value:
            environment[variable] = str(value)
    return environment


def _text(value: object) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
