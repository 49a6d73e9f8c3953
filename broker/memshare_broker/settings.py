"""Every setting, read from `MEMSHARE_…` environment variables and from `memshare.toml`."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings import PydanticBaseSettingsSource as Source

from memshare_broker.redis_server import socket_url
from memshare_broker.setting_forms import (
    ListenAddress,
    Login,
    Networks,
    Place,
    RateLimits,
    RedisUrl,
    Secret,
    TorchDevice,
    WebAddress,
    unusable,
)
from memshare_broker.settings_file import environment_before_file

Role = Literal["agents", "scorer", "trainer"]
MODELS_OF_ROLES = tuple(f"model_{role}" for role in get_args(Role))  # the settings that name them

OFFLINE = "offline"  # in place of a model's name, where there is none

DEFAULT_MODELS = {"OPENAI_API_KEY": "openai:gpt-5.6-luna", "MISTRAL_API_KEY": "mistral:mistral-small-latest"}


class Settings(BaseSettings):
    """The settings of one process; each field's description is its line in docs/settings.md."""

    model_config = SettingsConfigDict(env_prefix="MEMSHARE_", env_ignore_empty=True, frozen=True)

    data: Place = Field(
        default=Path("~/.memshare"), description="Folder of the embedded Redis, pool and encoders, and of nothing else."
    )
    config: Place | None = Field(
        default=None, description="File of settings. Unset: `memshare.toml` in MEMSHARE_DATA, if there is one."
    )
    redis_url: RedisUrl | None = Field(
        default=None,
        description="Redis to use, as redis://HOST:PORT/DB or sentinel://:PASSWORD@HOST:PORT,HOST:PORT/DB?master=NAME. "
        "Unset: the embedded one of `memshare up`.",
    )
    secret: Secret | None = Field(
        default=None,
        description="Secret by which workers know each other's messages, the same for all of a Redis: 32 characters or "
        "more, or two with a comma while one replaces the other. Unset: MEMSHARE_SECRET_FILE.",
    )
    secret_file: Place | None = Field(
        default=None,
        description="File with that secret. Unset: `secret` in MEMSHARE_DATA, which `memshare up`, or a worker without "
        "MEMSHARE_REDIS_URL, makes.",
    )
    memory_url: WebAddress | None = Field(
        default=None,
        description="Memory service to ask, as http://HOST:PORT. Unset: that of MEMSHARE_DATA, by its socket there.",
    )
    memory_token: SecretStr | None = Field(
        default=None, description="Token that a memory service asks for on a network, and that is sent to it."
    )
    memory_listen: ListenAddress | None = Field(
        default=None,
        description="Address that a memory worker serves at, as HOST:PORT; it takes MEMSHARE_MEMORY_TOKEN. "
        "Unset: a socket in MEMSHARE_DATA.",
    )
    token: SecretStr | None = Field(
        default=None, description="Token that `memshare mcp` asks with; `memshare token create NAME …` prints one."
    )
    qdrant_url: str | None = Field(
        default=None, description="Qdrant to keep the pool in, as http://HOST:PORT. Unset: the embedded engine."
    )
    qdrant_api_key: SecretStr | None = Field(default=None, description="Qdrant's API key.")
    model: str | None = Field(
        default=None,
        description="Chat model: openai:NAME, mistral:NAME, or offline for none. Unset: by the API key that is set.",
    )
    model_agents: str | None = Field(default=None, description="Chat model of the agents, where it differs.")
    model_scorer: str | None = Field(default=None, description="Chat model of scorer and concepts, where it differs.")
    model_trainer: str | None = Field(default=None, description="Chat model of the trainer, where it differs.")
    model_timeout: float = Field(default=120, gt=0, le=140, description="Seconds a model may take to reply.")
    rate_limits: RateLimits | None = Field(
        default=None,
        description="Calls of all workers together, as MODEL=N requests, N tokens; … (a minute; * in MODEL matches "
        "anything). Unset: no limit.",
    )
    prices: Place | None = Field(
        default=None, description="TOML file with the prices of models: see [limits and budgets](budgets.md)."
    )
    agents_dir: Place | None = Field(
        default=None, description="Folder of your own agents: NAME.toml and NAME.rubric.toml."
    )
    encoder: str | None = Field(
        default=None,
        description="A sentence-transformers model or folder, or openai:NAME. Unset: the bundled all-MiniLM-L6-v2.",
    )
    device: TorchDevice | None = Field(
        default=None,
        description="Torch device of the encoder and of consolidation: cpu, cuda, cuda:N or mps. "
        "Unset: a GPU if there is one.",
    )
    encoders: Place | None = Field(
        default=None,
        description="Folder of the encoders that consolidation writes; on several machines a shared one. "
        "Unset: `encoders` in MEMSHARE_DATA.",
    )
    exports: Place | None = Field(
        default=None,
        description="Folder of encoders as they are served, each exported once; it may be shared, or come with an "
        "image. Unset: `exports` in MEMSHARE_DATA.",
    )
    learn: bool = Field(
        default=True, description="Whether retrievers [learn](retriever.md): false saves the calls of their lessons."
    )
    consolidate: bool = Field(
        default=True,
        description="Whether the trainer [consolidates](retriever.md) by itself, with up to 20,000 memories in "
        "all pools.",
    )
    concepts: bool = Field(default=True, description="Whether memories get [concepts](concepts.md); ten share a call.")
    concepts_wait: float = Field(
        default=60,
        ge=0,
        le=3_600,
        description="Seconds that a memory waits at most for others, to share the call that names its concepts, or "
        "that compares it.",
    )
    labels: Literal["json", "logprobs"] = Field(
        default="json", description="How labels are asked for: json, one call a lesson; logprobs, one a candidate."
    )
    lesson_share: float = Field(
        default=0.25,
        ge=0,
        le=1,
        description="Share of new memories that become lessons once a pool's retriever has had 200 lessons; it falls "
        "as lessons grow in number.",
    )
    lessons_kept: int = Field(default=2_000, ge=100, description="Lessons kept of each pool, spread evenly over time.")
    prompt_limit: int = Field(default=20_000, ge=1, description="Longest prompt that is taken, in characters.")
    withhold: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="Share of the tasks, 0 to 1, from which one memory is withheld at random, to [measure what "
        "memories do](retriever.md#is-it-worth-it); 0: never.",
    )
    scorer_votes: int = Field(default=1, ge=1, le=9, description="Gradings per pair; the score is their mean.")
    concurrency: int = Field(default=32, ge=1, le=500, description="Tasks that one worker runs at a time.")
    tries: int = Field(default=6, ge=1, le=20, description="Maximum attempts before a task becomes a dead letter.")
    retry_hours: float = Field(
        default=24, gt=0, description="Hours after its first failure for which a task is tried again."
    )
    queue_limit: int = Field(
        default=50_000, ge=0, description="Open tasks of a queue above which it takes no new ones; 0: no limit."
    )
    request_limit: int = Field(
        default=6_000,
        ge=0,
        description="Requests a minute of each token at [the doors](doors.md#bounds), all of which may come at once; "
        "0: no limit.",
    )
    grace: float = Field(
        default=25,
        ge=0,
        description="Seconds that running tasks get to finish after SIGTERM; then they go back to their queue.",
    )
    submitter_share: float = Field(
        default=0.67,
        gt=0,
        le=1,
        description="Largest share of the memories shown that may come from one submitter, if there are others.",
    )
    lease: float = Field(
        default=330, gt=0, description="Seconds after which a task that is in no queue and no worker is sent again."
    )
    documents: str | None = Field(
        default=None,
        description="Folders and files, with colons between them, that the reasoning agent may read. Unset: none.",
    )
    searxng_url: WebAddress | None = Field(
        default=None, description="SearXNG to search the web with, as http://HOST:PORT. Unset: no web search."
    )
    browser_networks: Networks | None = Field(
        default=None,
        description="Networks, with commas between them, whose web pages are read although they are not public, such "
        "as 10.0.0.0/8. Unset: none.",
    )
    browser_seconds: float = Field(default=20, gt=0, le=60, description="Seconds that a web page or search may take.")
    browser_bytes: int = Field(
        default=10_000_000, ge=1_000, le=50_000_000, description="Longest web page or document that is read, in bytes."
    )
    log_format: Literal["text", "json"] = Field(
        default="text", description="How workers log: text, or json for one JSON object a line."
    )
    metrics_port: int | None = Field(
        default=None,
        ge=1,
        le=65_535,
        description="Port on which a worker serves metrics of its own. With `memshare up` it is that of the first "
        "worker, and each other one has the next. Unset: none.",
    )
    heartbeat: Place | None = Field(
        default=None,
        description="File that a worker touches every 5 seconds while it takes tasks and Redis answers; one that is 30 "
        "seconds old is of a worker that does not. Unset: none.",
    )
    flower_auth: Login | None = Field(
        default=None, description="USER:PASSWORD that Flower of `memshare up` asks for. Unset: none, on loopback alone."
    )
    keep_days: float = Field(default=7, gt=0, description="Days that answers and traces can be read.")

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: Source, env_settings: Source, *_: Source, **__: Source
    ) -> tuple[Source, ...]:
        return environment_before_file(settings_cls, init_settings, env_settings)

    @cached_property
    def encoders_dir(self) -> Path:
        """The folder of the encoders that consolidation writes."""
        return self.encoders or self.data / "encoders"

    @cached_property
    def exports_dir(self) -> Path:
        """The folder of the encoders as they are served."""
        return self.exports or self.data / "exports"

    @cached_property
    def redis(self) -> str:
        """The Redis URL in redis-py's form, embedded or configured."""
        return self.redis_url or socket_url(self.data)

    def model_for(self, role: Role) -> str:
        """The chat model of a role: its own, the common one, or what the API keys allow."""
        own: str | None = getattr(self, f"model_{role}")
        by_key = (model for key, model in DEFAULT_MODELS.items() if os.environ.get(key))
        return own or self.model or next(by_key, OFFLINE)


def load_settings(data: Path | None = None) -> Settings:
    """The settings of this process, or of another data folder; raises `BadInput` naming what cannot be used."""
    try:
        return Settings() if data is None else Settings(data=data)
    except ValidationError as error:
        raise unusable(error) from error
