"""The settings: what a user may set, by what it is about, and where it is read from."""

from memshare_broker.settings.file import OFFLINE
from memshare_broker.settings.settings import (
    DEFAULT_MODELS,
    MODELS_OF_ROLES,
    PROMPT_LIMIT,
    SERVER_WAIT,
    Role,
    Settings,
    load_settings,
)

__all__ = [
    "DEFAULT_MODELS",
    "MODELS_OF_ROLES",
    "OFFLINE",
    "PROMPT_LIMIT",
    "SERVER_WAIT",
    "Role",
    "Settings",
    "load_settings",
]
