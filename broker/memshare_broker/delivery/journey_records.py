"""The records of a journey: what stays for MEMSHARE_KEEP_DAYS, and the details, for MEMSHARE_KEEP_TRACES_DAYS.

They lie in two hashes of the same fields, so that the details end by themselves. A `Hop` says what is a detail.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import redis

from memshare_broker.delivery.keys import journey_key, trace_key
from memshare_broker.delivery.packed_json import unpack
from memshare_broker.wire.messages import Record


class Halves(NamedTuple):
    """A record in two: `lasting` is None where all of it is details."""

    lasting: Record | None
    details: Record


def split(record: Record, details: Collection[str] | None) -> Halves:
    """The record and its details: fields in whose place an empty one of the same type stays, or None for all."""
    if details is None:
        return Halves(None, record)
    apart = {name: record[name] for name in details if record.get(name)}
    return Halves(record | {name: type(value)() for name, value in apart.items()}, apart)


def join(lasting: bytes, details: bytes | None) -> Record:
    """The record of two packed halves, as far as they are still there."""
    return (unpack(lasting) or {}) | (unpack(details) if details else {})


def read_records(client: redis.Redis, journeys: Sequence[str]) -> list[dict[str, Any]]:
    """What is known of each of these journeys, by stage, read in one step: empty for an unknown id."""
    asking = client.pipeline(transaction=False)
    for journey in journeys:
        for key in (journey_key(journey), trace_key(journey)):
            asking.execute_command("HGETALL", key, NEVER_DECODE=True)  # type: ignore[no-untyped-call]
    found = iter(asking.execute())
    return [_joined(lasting, details) for lasting, details in zip(found, found, strict=True)]


def _joined(lasting: Mapping[bytes, bytes], details: Mapping[bytes, bytes]) -> dict[str, Any]:
    if not lasting:
        return {}
    records = {name.decode(): unpack(kept) for name, kept in lasting.items()}
    for name, kept in details.items():
        before, value = records.get(name.decode()), unpack(kept)
        records[name.decode()] = before | value if before else value
    return {name: value for name, value in records.items() if value is not None}
