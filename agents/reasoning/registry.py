"""The operators that there are: a new one is a file with its `Operator`, and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from memshare.agents.reasoning.browser import browser
from memshare.agents.reasoning.coordinator import coordinator
from memshare.agents.reasoning.discriminator import discriminator
from memshare.agents.reasoning.operator import Operator
from memshare.agents.reasoning.responder import responder
from memshare.agents.reasoning.searcher import searcher

OPERATORS: Mapping[str, Operator[Any]] = MappingProxyType(
    {one.name: one for one in (coordinator, searcher, browser, responder, discriminator)}
)
