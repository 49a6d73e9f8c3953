"""What there is: pools, agents, rubrics and counts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from memshare.client.replies import AgentReply, PoolReply, RubricReply, StatsReply
from memshare.doors import listings
from memshare.doors.authentication import BackendNow, CallerNow
from memshare.doors.problems import RESPONSES

router = APIRouter(tags=["what there is"], responses=RESPONSES)


@router.get("/pools")
def get_pools(backend: BackendNow, caller: CallerNow) -> list[PoolReply]:
    """Your pools."""
    return listings.pools(backend, caller)


@router.get("/agents")
def get_agents(backend: BackendNow, caller: CallerNow) -> list[AgentReply]:
    """The agents of your pools."""
    return listings.agents(backend, caller)


@router.get("/rubrics")
def get_rubrics(backend: BackendNow, caller: CallerNow) -> list[RubricReply]:
    """How the answers of your pools are graded."""
    return listings.rubrics(backend, caller)


@router.get("/rubrics/{name}")
def get_rubric(
    name: Annotated[str, Path(min_length=1, max_length=200)], backend: BackendNow, caller: CallerNow
) -> RubricReply:
    """One rubric."""
    return listings.rubric(backend, caller, name)


@router.get("/stats")
def get_stats(backend: BackendNow, caller: CallerNow) -> StatsReply:
    """How many memories your pools have, and how many messages are open."""
    return listings.stats(backend, caller)
