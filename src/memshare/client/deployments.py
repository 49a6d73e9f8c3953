"""The file that MEMSHARE_DEPLOYMENTS names: several deployments, and which has which agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, RootModel, SecretStr, model_validator

from memshare_broker.settings import Settings
from memshare_broker.settings.forms import RedisUrl, Secret, WebAddress
from memshare_broker.toml_files import load
from memshare_broker.wire.messages import Name


class Deployment(BaseModel):
    """Where a deployment is, and which agents it has. What it leaves out is as in the settings of this machine."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agents: Annotated[tuple[Name, ...], Field(min_length=1)]
    redis_url: RedisUrl
    memory_url: WebAddress
    memory_token: SecretStr | None = None
    secret: Secret | None = None


class _File(RootModel[dict[str, Deployment]]):
    @model_validator(mode="after")
    def _has_each_agent_once(self) -> _File:
        agents = [agent for one in self.root.values() for agent in one.agents]
        if not agents:
            raise ValueError("expected a table for each deployment, such as [poems]")
        if twice := sorted({agent for agent in agents if agents.count(agent) > 1}):
            raise ValueError(f"the agent {twice[0]!r} is in two deployments")
        return self


def read_deployments(file: Path) -> dict[str, tuple[Settings, tuple[str, ...]]]:
    """By its name the settings of each deployment, and its agents; raises `BadInput` that names the line."""
    found = load(file, _File).root.items()
    return {
        name: (Settings(**one.model_dump(exclude={"agents"}, exclude_none=True)), one.agents) for name, one in found
    }
