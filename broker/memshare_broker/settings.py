"""All settings of a process, read from `MEMSHARE_…` environment variables and from `memshare.toml`."""

from __future__ import annotations

import logging
import os
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, get_args

from pydantic import BaseModel, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings import PydanticBaseSettingsSource as Source

from memshare_broker.redis_server import socket_url
from memshare_broker.settings_file import (
    OFFLINE as OFFLINE,
)
from memshare_broker.settings_file import (
    PROVIDERS,
    ChatModel,
    ListenAddress,
    Login,
    Networks,
    Place,
    RateLimits,
    RedisUrl,
    Secret,
    TorchDevice,
    WebAddress,
    environment_before_file,
    unusable,
    warn_of_unknown,
)


class PlaceSettings(BaseModel):
    """A part of the settings: *Where things are*."""

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


Role = Literal["agents", "scorer", "trainer"]
MODELS_OF_ROLES = tuple(f"model_{role}" for role in get_args(Role))  # the settings that name them
DEFAULT_MODELS = {"OPENAI_API_KEY": "openai:gpt-5.6-luna", "MISTRAL_API_KEY": "mistral:mistral-small-latest"}


class ModelSettings(BaseModel):
    """A part of the settings: *Models*."""

    model: ChatModel | None = Field(
        default=None,
        description=f"Chat model: {', '.join(f'{provider}:NAME' for provider in PROVIDERS)}, or {OFFLINE} for none. "
        "Unset: by the API key that is set.",
    )
    model_agents: ChatModel | None = Field(default=None, description="Chat model of the agents, where it differs.")
    model_scorer: ChatModel | None = Field(
        default=None, description="Chat model of scorer and concepts, where it differs."
    )
    model_trainer: ChatModel | None = Field(default=None, description="Chat model of the trainer, where it differs.")
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
    batch_api: bool = Field(
        default=False,
        description="Whether what can wait is asked by the provider's Batch API: [half the price, within a day]"
        "(models.md#half-the-price-for-what-can-wait).",
    )
    prices: Place | None = Field(
        default=None, description="TOML file with the prices of models: see [limits and budgets](budgets.md)."
    )

    def model_for(self, role: Role) -> str:
        """The chat model of a role: its own, the common one, or what the API keys allow."""
        own: str | None = getattr(self, f"model_{role}")
        return (
            own or self.model or next((model for key, model in DEFAULT_MODELS.items() if os.environ.get(key)), OFFLINE)
        )


class LearningSettings(BaseModel):
    """A part of the settings: *Memories and learning*."""

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
        description="Seconds that a memory waits at most for others, to share a call for concepts, labels or "
        "comparisons.",
    )
    labels: Literal["json", "logprobs"] = Field(
        default="json", description="How labels are asked for: json, a call for lessons; logprobs, one a candidate."
    )
    lessons_together: int = Field(
        default=10, ge=1, le=10, description="Lessons that share a call for labels at most; 1 gives each its own."
    )
    lesson_share: float = Field(
        default=0.25,
        ge=0,
        le=1,
        description="Share of new memories that become lessons once a pool's retriever has had 200 lessons; it falls "
        "as lessons grow in number.",
    )
    lessons_kept: int = Field(default=2_000, ge=100, description="Lessons kept of each pool, spread evenly over time.")
    submitter_share: float = Field(
        default=0.67,
        gt=0,
        le=1,
        description="Largest share of the memories shown that may come from one submitter, if there are others.",
    )
    credit_half_life: float = Field(
        default=90, ge=0, description="Days after which [credit](knowledge.md#credibility) counts half; 0: never."
    )
    alpha: float = Field(
        default=1, ge=0, le=1, description="How much doubt counts in favour of a [memory](knowledge.md#credibility): α."
    )
    near_enough: float | None = Field(
        default=None, ge=-1, le=1, description="Least similarity of an answer. Unset: what a pool's grades suggest."
    )
    scorer_votes: int = Field(default=1, ge=1, le=9, description="Gradings per pair; the score is their mean.")


PROMPT_LIMIT = 20_000  # characters


class ReadingSettings(BaseModel):
    """A part of the settings: *Agents, and what they read*."""

    agents_dir: Place | None = Field(
        default=None, description="Folder of your own agents: NAME.toml and NAME.rubric.toml."
    )
    prompt_limit: int = Field(
        default=PROMPT_LIMIT, ge=1, description="Longest prompt, and longest answer of a memory, in characters."
    )
    withhold: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="Share of the tasks, 0 to 1, from which one memory is withheld at random, to [measure what "
        "memories do](retriever.md#is-it-worth-it); 0: never, and [no number of memories]"
        "(retriever.md#how-many-are-shown) is tried by chance.",
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


class WorkSettings(BaseModel):
    """A part of the settings: *Work and failure*."""

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
    open_limit: int = Field(
        default=1_000,
        ge=0,
        description="Tasks of each token at the doors that may wait for their answers; 0: no limit. Not for `admin`.",
    )
    offer_limit: int = Field(
        default=10_000,
        ge=0,
        description="Answers that each token may offer in a UTC day; 0: no limit. Not for `admin`.",
    )
    grace: float = Field(
        default=25,
        ge=0,
        description="Seconds that running tasks get to finish after SIGTERM; then they go back to their queue.",
    )
    lease: float | None = Field(
        default=None,
        gt=0,
        description="Seconds after which a task that is in no queue and no worker is sent again. Unset: twice "
        "MEMSHARE_MODEL_TIMEOUT and 100, at least 340.",
    )
    keep_days: float = Field(
        default=7, gt=0, description="Days that it is known of a task what was asked, answered, scored and remembered."
    )
    keep_traces_days: float = Field(
        default=1,
        gt=0,
        description="Days that the details of its trace are kept too (steps, ranges of its grade, lesson, concepts, "
        "times), and its result as Celery stores it.",
    )


class WatchingSettings(BaseModel):
    """A part of the settings: *Watching*."""

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

    @field_validator("metrics_port", mode="before")
    @classmethod
    def _no_service(cls, given: object) -> object:
        """Kubernetes calls the address of a service memshare-metrics so, as tcp://HOST:PORT."""
        return None if isinstance(given, str) and "://" in given else given

    heartbeat: Place | None = Field(
        default=None,
        description="File that a worker touches every 5 seconds while it takes tasks and Redis answers; one that is 30 "
        "seconds old is of a worker that does not. Unset: none.",
    )
    flower_auth: Login | None = Field(
        default=None,
        description="USER:PASSWORD that Flower of `memshare up` asks for. Unset: one is made for the data folder, on "
        "loopback alone, and printed.",
    )


PREFIX = "MEMSHARE_"
SHORT_TIMEOUT = 120  # seconds of a model: a run in steps takes as long as two calls of them
SERVER_WAIT = 45.0  # seconds for which a call waits until its model's server can take it
BESIDE_CALLS = 25  # seconds
LEASE_BEYOND = 30  # seconds: Celery's own redelivery comes first


class Settings(
    WatchingSettings, WorkSettings, LearningSettings, ReadingSettings, ModelSettings, PlaceSettings, BaseSettings
):
    """The settings of one process; each field's description is its line in docs/settings.md."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True)
    beside: ClassVar[bool] = True

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: Source, env_settings: Source, *_: Source, **__: Source
    ) -> tuple[Source, ...]:
        return environment_before_file(settings_cls, init_settings, env_settings, beside=cls.beside)

    @cached_property
    def encoders_dir(self) -> Path:
        return self.encoders or self.data / "encoders"

    @cached_property
    def exports_dir(self) -> Path:
        return self.exports or self.data / "exports"

    @cached_property
    def longest_task(self) -> float:
        """Seconds that a task may take: two calls of a slow model, the wait for its server, and what is beside them."""
        return 2 * max(self.model_timeout, SHORT_TIMEOUT) + SERVER_WAIT + BESIDE_CALLS

    @cached_property
    def lost_after(self) -> float:
        """Seconds after which a task that is in no queue and no worker is sent again."""
        return self.lease or self.longest_task + LEASE_BEYOND

    @property
    def pool_is_embedded(self) -> bool:
        """True if the pool lies in the data folder, where one process at a time has it open."""
        return not self.qdrant_url

    @cached_property
    def traces_days(self) -> float:
        """Days that the details of traces are kept: never longer than what they are the details of."""
        return min(self.keep_traces_days, self.keep_days)

    @cached_property
    def redis(self) -> str:
        """The Redis URL in redis-py's form, embedded or configured."""
        return self.redis_url or socket_url(self.data)


class OwnSettings(Settings):
    """The settings that a person gave, without those of a `memshare up` that runs."""

    beside: ClassVar[bool] = False


def load_settings(data: Path | None = None, kind: type[Settings] = Settings) -> Settings:
    """The settings of this process, or of another data folder; raises `BadInput` naming what cannot be used."""
    try:
        settings = kind() if data is None else kind(data=data)
    except ValidationError as error:
        raise unusable(error) from error
    if settings.log_format == "text" or logging.getLogger().handlers:  # without a handler it would be no JSON
        warn_of_unknown(PREFIX, Settings.model_fields)
    return settings
