"""How parameters of tools are described to a model."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Prompt = Annotated[str, Field(description="the task, as the user gave it")]
AgentName = Annotated[str | None, Field(description="an agent of memshare://agents; name it or a pool")]
PoolName = Annotated[str | None, Field(description="a pool of memshare://pools; name it or an agent")]
KindName = Annotated[str | None, Field(description="one of the agent's kinds of tasks")]
