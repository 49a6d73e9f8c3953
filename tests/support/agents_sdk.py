"""Imports the OpenAI Agents SDK, which has the name of our folder at the top of the tree."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from tests.support.deployment import ROOT


def agents_sdk() -> ModuleType:
    """The SDK's module `agents`: found as where memshare is installed, and not in a clone of it."""
    before = list(sys.path)
    sys.path[:] = [path for path in before if Path(path or ".").resolve() != ROOT]
    try:
        return importlib.import_module("agents")
    finally:
        sys.path[:] = before
