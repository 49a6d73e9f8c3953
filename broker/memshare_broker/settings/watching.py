"""Settings of logs, metrics and Flower."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from memshare_broker.settings.forms import Login, Place


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
    heartbeat: Place | None = Field(
        default=None,
        description="File that a worker touches every 5 seconds while it takes tasks and Redis answers; one that is 30 "
        "seconds old is of a worker that does not. Unset: none.",
    )
    flower_auth: Login | None = Field(
        default=None, description="USER:PASSWORD that Flower of `memshare up` asks for. Unset: none, on loopback alone."
    )
