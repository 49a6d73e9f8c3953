"""All settings of a process, read from `MEMSHARE_…` environment variables and from `memshare.toml`."""

from __future__ import annotations

import logging
import os
import re
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path

from pydantic import ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings import PydanticBaseSettingsSource as Source

from memshare_broker.redis_server import socket_url
from memshare_broker.settings.file import environment_before_file
from memshare_broker.settings.forms import unusable
from memshare_broker.settings.learning import LearningSettings
from memshare_broker.settings.models import ModelSettings
from memshare_broker.settings.places import PlaceSettings
from memshare_broker.settings.reading import ReadingSettings
from memshare_broker.settings.work import WatchingSettings, WorkSettings

log = logging.getLogger(__name__)

PREFIX = "MEMSHARE_"
OF_OTHERS = re.compile(r"(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT_[0-9]+_(TCP|UDP|SCTP).*|IMAGE)|TEST_.+")
"""Names after the prefix that Kubernetes has for a service memshare-…, or compose, or tests."""
NEAR = 0.7  # how alike a name is to the one that was meant
SHORT_TIMEOUT = 120  # seconds of a model: a run in steps takes as long as two calls of them
SERVER_WAIT = 45.0  # seconds for which a call waits until its model's server can take it
BESIDE_CALLS = 25  # seconds
LEASE_BEYOND = 30  # seconds: Celery's own redelivery comes first


class Settings(
    WatchingSettings, WorkSettings, LearningSettings, ReadingSettings, ModelSettings, PlaceSettings, BaseSettings
):
    """The settings of one process; each field's description is its line in docs/settings.md."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True)

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
    def longest_task(self) -> float:
        """Seconds that a task may take: two calls of a slow model, the wait for its server, and what is beside them."""
        return 2 * max(self.model_timeout, SHORT_TIMEOUT) + SERVER_WAIT + BESIDE_CALLS

    @cached_property
    def lost_after(self) -> float:
        """Seconds after which a task that is in no queue and no worker is sent again."""
        return self.lease or self.longest_task + LEASE_BEYOND

    @property
    def pool_is_embedded(self) -> bool:
        """Whether the pool lies in the data folder, where one process at a time has it open."""
        return not self.qdrant_url

    @cached_property
    def traces_days(self) -> float:
        """Days that the details of traces are kept: never longer than what they are the details of."""
        return min(self.keep_traces_days, self.keep_days)

    @cached_property
    def redis(self) -> str:
        """The Redis URL in redis-py's form, embedded or configured."""
        return self.redis_url or socket_url(self.data)


def load_settings(data: Path | None = None) -> Settings:
    """The settings of this process, or of another data folder; raises `BadInput` naming what cannot be used."""
    try:
        settings = Settings() if data is None else Settings(data=data)
    except ValidationError as error:
        raise unusable(error) from error
    if settings.log_format == "text" or logging.getLogger().handlers:  # without a handler it would be no JSON
        _warn_of(tuple(sorted(filter(_is_unknown, os.environ))))
    return settings


def _is_unknown(variable: str) -> bool:
    """Whether a variable looks like a setting that there is not; one that is empty sets nothing."""
    name = variable.upper().removeprefix(PREFIX)
    value = os.environ[variable]
    if name == variable.upper() or name.lower() in Settings.model_fields or not value or OF_OTHERS.fullmatch(name):
        return False
    is_of_service = name.split("_")[-1] == "PORT" and ("://" in value or _nearest(name) is None)
    return not is_of_service


def _nearest(name: str) -> str | None:
    return next(iter(get_close_matches(name, map(str.upper, Settings.model_fields), 1, NEAR)), None)


@cache  # so that a process says it once
def _warn_of(variables: tuple[str, ...]) -> None:
    for one in variables:
        near = _nearest(one.upper().removeprefix(PREFIX))
        advice = f"Did you mean {PREFIX}{near}?" if near else "docs/settings.md lists those that there are."
        log.warning("%s is no setting of memshare, and does nothing. %s", one, advice)
