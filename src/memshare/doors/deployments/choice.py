"""Which deployment a request is for, by what it names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.routing import Match

from memshare.client.errors import NotFound
from memshare.client.rest.call import Call
from memshare.client.rest.calls.sharing import Sharing
from memshare.doors.backend import Backend
from memshare.doors.caller import Caller
from memshare.doors.routes.calls import call_routes
from memshare.doors.table import served
from memshare_broker.connection import DOWN
from memshare_broker.errors import BadInput, Unreachable

CHOICE = "deployment"
"""The parameter of a URL that names a deployment."""
IDS = ("journey_id", "memory_id", "letter_id", "recall_id", "journey", "memories")
"""What a request may name of a deployment beside agents and pools."""
OF_FILES = (Sharing.rubric.call, Sharing.approve_rubric.call)


class DeploymentChoice:
    """Finds the deployment that has an agent or a pool."""

    def __init__(self, backends: Sequence[Backend]) -> None:
        self._backends = backends
        self._calls = {call.name: call for call in served()}

    def read(self, request: Request, body: bytes) -> tuple[Call[Any] | None, dict[str, Any]]:
        """The call that a request makes, and what it names: in its body, its query and its path."""
        for route in call_routes():
            match, found = route.matches(request.scope)
            if match is Match.FULL:
                call = self._calls[route.name]
                named = {**_fields(body), **request.query_params, **found["path_params"]}
                return call, {**named, "agent": named.get("name")} if call is Sharing.agent.call else named
        return None, {}

    def called(self, name: str) -> Backend:
        """The deployment of a name; raises `NotFound`."""
        for backend in self._backends:
            if backend.name == name:
                return backend
        raise NotFound(f"No deployment is called {name!r}. There are: {', '.join(self._names)}.")

    def with_agent(self, agent: str, caller: Caller) -> Backend:
        """The deployment that runs an agent; raises `NotFound`."""
        for backend in self._backends:
            if agent in (backend.agents or ()):
                return backend
        known = sorted(one for backend in self._backends for one in backend.agents or ())
        there = f" There are: {', '.join(known)}." if caller.pools is None else ""
        raise NotFound(f"No deployment has the agent {agent!r}.{there}")

    def with_pool(self, pool: str, caller: Caller) -> list[Backend]:
        """The deployments that have a pool, by their agents or by their memories; those that are away may have it.

        Of a pool that is not the caller's nobody says more than any deployment would.
        """
        if not caller.sees(pool):
            return list(self._backends)
        for pools in (_pools_of_agents, _pools_with_memories):
            having, away = [], []
            for backend in self._backends:
                try:
                    having += [backend] if pool in pools(backend) else []
                except (Unreachable, *DOWN):
                    away.append(backend)
            if having:
                return having
        if not away:
            raise NotFound(f"No deployment has the pool {pool!r}. For a new one, {self._how}")
        return away

    @property
    def _names(self) -> list[str]:
        return [backend.name for backend in self._backends]

    @property
    def _how(self) -> str:
        return f"name the deployment: add ?{CHOICE}=NAME to the URL. There are: {', '.join(self._names)}."

    def unclear(self) -> BadInput:
        """The error for a request that names nothing by which a deployment could be chosen."""
        return BadInput(f"This is answered by one deployment alone: {self._how}")


def _fields(body: bytes) -> dict[str, Any]:
    """The fields of a body; none of one that is no JSON object, of which whoever is asked says what is wrong."""
    try:
        given = json.loads(body or b"{}")
    except ValueError:
        return {}
    return given if isinstance(given, dict) else {}


def names_by_id(call: Call[Any], named: Mapping[str, Any]) -> bool:
    """Whether a request names what one deployment alone has, which is asked for in each."""
    return call in OF_FILES or any(named.get(one) for one in IDS)


def _pools_of_agents(backend: Backend) -> set[str]:
    return {card.pool for card in backend.cards().values()}


def _pools_with_memories(backend: Backend) -> set[str]:
    return set(backend.client.memories.stats().by_pool)
