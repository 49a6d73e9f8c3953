"""The operators that there are: a new one is a file with its `Operator`, and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from agents.reasoning.browser import browser
from agents.reasoning.coordinator import coordinator
from agents.reasoning.discriminator import discriminator
from agents.reasoning.operator import Operator
from agents.reasoning.responder import responder
from agents.reasoning.searcher import searcher

OPERATORS: Mapping[str, Operator[Any]] = MappingProxyType(
    {one.name: one for one in (coordinator, searcher, browser, responder, discriminator)}
)
