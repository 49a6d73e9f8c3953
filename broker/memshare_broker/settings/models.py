"""Settings of the chat models."""

from __future__ import annotations

import os
from typing import Literal, get_args

from pydantic import BaseModel, Field

from memshare_broker.settings.file import PROVIDERS
from memshare_broker.settings.forms import Place, RateLimits

Role = Literal["agents", "scorer", "trainer"]
MODELS_OF_ROLES = tuple(f"model_{role}" for role in get_args(Role))  # the settings that name them
DEFAULT_MODELS = {"OPENAI_API_KEY": "openai:gpt-5.6-luna", "MISTRAL_API_KEY": "mistral:mistral-small-latest"}
OFFLINE = "offline"  # in place of a model's name, where there is none


class ModelSettings(BaseModel):
    """A part of the settings: *Models*."""

    model: str | None = Field(
        default=None,
        description=f"Chat model: {', '.join(f'{one}:NAME' for one in PROVIDERS)}, or {OFFLINE} for none. "
        "Unset: by the API key that is set.",
    )
    model_agents: str | None = Field(default=None, description="Chat model of the agents, where it differs.")
    model_scorer: str | None = Field(default=None, description="Chat model of scorer and concepts, where it differs.")
    model_trainer: str | None = Field(default=None, description="Chat model of the trainer, where it differs.")
    model_timeout: float = Field(default=120, gt=0, le=3_600, description="Seconds a model may take to reply.")
    model_window: int | None = Field(
        default=None,
        ge=512,
        description="Tokens that a model takes, prompt and answer together, where its server does not tell it. "
        "Unset: 32,000.",
    )
    rate_limits: RateLimits | None = Field(
        default=None,
        description="Calls of all workers together, as MODEL=N requests, N tokens; … (a minute; * in MODEL matches "
        "anything). Unset: no limit.",
    )
    prices: Place | None = Field(
        default=None, description="TOML file with the prices of models: see [limits and budgets](budgets.md)."
    )

    def model_for(self, role: Role) -> str:
        """The chat model of a role: its own, the common one, or what the API keys allow."""
        own: str | None = getattr(self, f"model_{role}")
        return own or self.model or next((one for key, one in DEFAULT_MODELS.items() if os.environ.get(key)), OFFLINE)
