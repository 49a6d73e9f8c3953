"""The mark of a restore that has begun and not ended: what it leaves half done is not to be used."""

from __future__ import annotations

import redis

from memshare_broker.errors import BadInput

RESTORING = "memshare:restoring"
"""The file that is restored; there from the first change to the last."""


def require_whole(client: redis.Redis) -> None:
    """Raise `BadInput` where a restore was broken off."""
    found = client.get(RESTORING)
    if found is not None:
        file = str(found)
        raise BadInput(
            f"A restore from {file!r} was broken off, so this deployment is incomplete. Run it again:"
            f" memshare restore {file}"
        )
