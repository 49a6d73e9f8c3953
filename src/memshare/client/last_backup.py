"""The last backup of a deployment, as Redis has it noted: when it was made, by whom, where, and how big it is."""

from __future__ import annotations

import redis
from pydantic import Field

from memshare_broker.wire.messages import Message

LAST_BACKUP = "memshare:backup"


class LastBackup(Message):
    """A backup that was written whole."""

    at: float = Field(description="Unix time in seconds")
    by: str = Field(description="login name of who made it")
    file: str = Field(description="on the machine where it was made")
    size: int = Field(description="in bytes")
    memories: int


def note_backup(client: redis.Redis, made: LastBackup) -> None:
    """Note that a backup was made, in place of the one before."""
    client.set(LAST_BACKUP, made.model_dump_json())


def last_backup(client: redis.Redis) -> LastBackup | None:
    """The last one; None where none was made."""
    text = client.get(LAST_BACKUP)
    return LastBackup.model_validate_json(text) if text else None
