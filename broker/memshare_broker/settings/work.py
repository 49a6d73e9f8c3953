"""Settings of how workers work, try again, give up and are watched, and how long records are kept."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, field_validator

from memshare_broker.settings.forms import Login, Place


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
