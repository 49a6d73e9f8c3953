"""The operators that there are: a new one is a file with its `Operator`, and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from memshare_agents.reasoning.browser import browser
from memshare_agents.reasoning.coordinator import coordinator
from memshare_agents.reasoning.discriminator import discriminator
from memshare_agents.reasoning.operator import Operator
from memshare_agents.reasoning.responder import responder
from memshare_agents.reasoning.searcher import filtered, searcher

OPERATORS: Mapping[str, Operator[Any]] = MappingProxyType(
    {one.name: one for one in (coordinator, searcher, filtered, browser, responder, discriminator)}
)
