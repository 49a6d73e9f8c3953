"""The journeys that began last, and those of them whose records name something."""

from __future__ import annotations

from collections.abc import Sequence

import redis

from memshare_broker.delivery.keys import RECENT, journey_key
from memshare_broker.delivery.packed_json import plain


def recent(client: redis.Redis) -> list[str]:
    """The last thousand, the latest first."""
    return [str(one) for one in client.zrange(RECENT, 0, -1, desc=True)]


def naming(client: redis.Redis, journeys: Sequence[str], name: str, *stages: str) -> list[str]:
    """Those of some journeys in whose records of these stages a name stands, such as an id; they are read at once."""
    with client.pipeline(transaction=False) as ask:
        for one in journeys:
            ask.execute_command("HMGET", journey_key(one), *stages, NEVER_DECODE=True)  # type: ignore[no-untyped-call]
        found = ask.execute()
    wanted = name.encode()
    records = zip(journeys, found, strict=True)
    return [one for one, kept in records if any(wanted in plain(each) for each in kept if each)]
