"""Settings in a file, so that every terminal of a deployment has the same."""

from __future__ import annotations

import fcntl
import os
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model
from pydantic_settings import BaseSettings, InitSettingsSource
from pydantic_settings import PydanticBaseSettingsSource as Source

from memshare_broker.toml_files import load

NAME = "memshare.toml"
RUNNING = "running.toml"
"""In a data folder: the model of the `memshare up` that runs there, which holds a lock on the file."""
PROVIDERS = ("openai", "mistral")
"""The providers of chat models, as the name of a model begins: PROVIDER:NAME."""
ADDRESSES = tuple(f"{one}_base_url" for one in PROVIDERS)
VARIABLES = (*(f"{one}_api_key" for one in PROVIDERS), *ADDRESSES)
"""What their clients read from the environment, in capitals; a file may have these beside the settings."""


def environment_before_file(
    settings_cls: type[BaseSettings], init_settings: Source, env_settings: Source
) -> tuple[Source, ...]:
    """Where settings come from, as pydantic-settings asks for it: what comes first counts more."""
    told = env_settings() | init_settings()
    data = Path(told.get("data", settings_cls.model_fields["data"].default)).expanduser()
    named = told.get("config")
    file = Path(named or data / NAME).expanduser()
    found = _read(settings_cls, file) if named or file.exists() else {}
    running = _read(settings_cls, data / RUNNING) if _is_held(data / RUNNING) else {}
    return init_settings, env_settings, InitSettingsSource(settings_cls, running | found)


def _is_held(file: Path) -> bool:
    """Whether the process that wrote a file is there."""
    try:
        with file.open() as opened:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # there is none
        return False
    return False


def _read(settings: type[BaseSettings], file: Path) -> dict[str, Any]:
    """The settings in a file; what it says of providers goes into the environment, where nothing else says it.

    Raises `BadInput` with the line of what cannot be used.
    """
    given = load(file, _form(settings)).model_dump(exclude_unset=True)
    for name in VARIABLES:
        if name in given:
            os.environ.setdefault(name.upper(), given.pop(name))
    return given


@cache
def _form(settings: type[BaseSettings]) -> type[BaseModel]:
    fields: dict[str, Any] = {name: (field.annotation, field) for name, field in settings.model_fields.items()}
    providers: dict[str, Any] = dict.fromkeys(VARIABLES, (str, ""))
    return create_model("SettingsFile", __config__=ConfigDict(extra="forbid"), **fields, **providers)
