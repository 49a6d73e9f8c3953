"""One key of Redis as a backup has it, and which keys belong to a deployment."""

from __future__ import annotations

from pydantic import JsonValue

from memshare.client.last_backup import LAST_BACKUP
from memshare.doors.tokens import TOKENS
from memshare_broker.delivery.keys import INCARNATIONS, JOURNEY, LIFTED, PACE, STARTS, SWEEPING, SWEPT
from memshare_broker.presence import INCARNATIONS_THERE, PREFIX
from memshare_broker.wire.messages import Message
from memshare_memory.pool.encoder_names import BEFORE
from memshare_memory.pool.owner import OWNER
from memshare_memory.pool.restoring import RESTORING

ALL = "memshare:*"
_RESULT = "celery-task-meta-"
_FLEETING = (
    PREFIX, INCARNATIONS_THERE, "memshare:gate:", "memshare:settle:", OWNER, SWEEPING, SWEPT, INCARNATIONS, STARTS,
    LIFTED, PACE, "memshare:index:", "memshare:rate", "memshare:usage:writer:", BEFORE, RESTORING,
    "memshare:session:", LAST_BACKUP,
)  # fmt: skip
_LEASE = ":lease"
_OF_A_START = (TOKENS, "memshare:encoder", "memshare:pools", "memshare:queues", "memshare:metrics")


class SavedKey(Message):
    """One key; a byte is written as the character of its number. `expires` is Unix time in milliseconds.

    The value is one text, or a list of texts; the pairs of a hash or a sorted set follow one another.
    """

    key: str
    type: str
    expires: int | None
    value: JsonValue

    @property
    def texts(self) -> list[str]:
        return [str(one) for one in self.value] if isinstance(self.value, list) else [str(self.value)]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        texts = self.texts
        return list(zip(texts[::2], texts[1::2], strict=True))


def lasts(key: str) -> bool:
    """Whether a key is for longer than a moment: not who is there, a lock, or where a message is on its way."""
    return not key.startswith(_FLEETING) and not key.endswith(_LEASE)


def is_of_use(key: str) -> bool:
    """Whether a key says that a deployment was used; some there are as soon as it has been started."""
    return lasts(key) and not key.startswith(_OF_A_START)


def beside(key: str) -> list[str]:
    """The keys of Celery that belong to one of ours: the result of a journey's first task."""
    return [_RESULT + key.removeprefix(JOURNEY)] if key.startswith(JOURNEY) else []
