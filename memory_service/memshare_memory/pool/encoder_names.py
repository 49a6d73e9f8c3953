"""The names of encoders, and where it stands in Redis which one is in use.

The first encoder is the one of the settings. Consolidation trains it on, and the encoder that comes out is
named after it: `all-MiniLM-L6-v2@3f2a9c1b`, with a hash of its weights.
"""

from __future__ import annotations

import re
from pathlib import Path

from memshare_broker.settings import Settings
from memshare_memory.encoders.encoder_name import BUNDLED

ENCODER = "memshare:encoder"  # the name of the encoder in use
BEFORE = "memshare:encoder:before"  # and of the one before it, whose store is kept

_TUNED = re.compile(r"(?P<first>.+)@[0-9a-f]{8}")


def first_name(settings: Settings) -> str:
    """The name of the encoder of the settings."""
    return settings.encoder or BUNDLED


def tuned_name(name: str, digest: str) -> str:
    """The name of an encoder that was trained on from `name`; `digest` is a hash of its weights, in hexadecimal."""
    return f"{origin_of(name)}@{digest[:8]}"


def origin_of(name: str) -> str:
    """The encoder that a name goes back to."""
    tuned = _TUNED.fullmatch(name)
    return tuned["first"] if tuned else name


def folder_of(settings: Settings, name: str) -> Path:
    """Where an encoder that came out of consolidation lies."""
    return settings.encoders_dir / re.sub("[^A-Za-z0-9.@_-]+", "-", name)
