"""Days (UTC) as the Unix times by which memories are found."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from memshare_memory.stores.store import Where


def on_days(where: Where, since: date | None, until: date | None) -> Where:
    """The same memories, made on these days or between them; None is no bound."""
    if since is not None:
        where = replace(where, created_from=_midnight(since))
    if until is not None:
        where = replace(where, created_before=_midnight(until + timedelta(days=1)))
    return where


def _midnight(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
