"""Settings that say where Redis, the memory service, Qdrant and files are."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, Field, SecretStr

from memshare_broker.settings.forms import ListenAddress, Place, RedisUrl, Secret, WebAddress


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
