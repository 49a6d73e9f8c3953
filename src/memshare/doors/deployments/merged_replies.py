"""One reply made of those of several deployments: lists are joined, numbers added, tables united."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memshare.client.rest.call import Call
from memshare.client.rest.calls.conflicts import ConflictCalls
from memshare.client.rest.calls.dead_letters import DeadLetterCalls
from memshare.client.rest.calls.journeys import Journeys
from memshare.client.rest.calls.memories import Memories
from memshare.client.rest.calls.needs import NeedsCalls
from memshare.client.rest.calls.sharing import Sharing

MERGED: dict[Call[Any], str] = {
    Sharing.pools.call: "name",
    Sharing.agents.call: "name",
    Sharing.rubrics.call: "name",
    Sharing.stats.call: "",
    Sharing.status.call: "",
    Memories.count.call: "",
    Journeys.list.call: "submitted",
    DeadLetterCalls.list.call: "died",
    ConflictCalls.list.call: "",
    NeedsCalls.list.call: "since",
}
"""The calls whose replies are merged, with the field by which their lists are sorted."""
LATEST_FIRST = Journeys.list.call


def merge(call: Call[Any], replies: Sequence[Any], limit: int | None) -> Any:
    """The reply of all deployments to a call; `limit` is the most that each list may have."""
    merged = _joined(replies)
    lists = [merged] if isinstance(merged, list) else [one for one in merged.values() if isinstance(one, list)]
    for one in lists:
        if field := MERGED[call]:
            one.sort(key=lambda row: (row.get(field) is None, row.get(field)), reverse=call is LATEST_FIRST)
        one[:] = one[:limit]
    return merged


def _joined(parts: Sequence[Any]) -> Any:
    first = parts[0]
    if isinstance(first, dict):
        return {name: _joined([one[name] for one in parts if name in one]) for part in parts for name in part}
    if isinstance(first, list):
        rows: list[Any] = []
        rows += [row for part in parts for row in part if row not in rows]
        return rows
    is_number = isinstance(first, int | float) and not isinstance(first, bool)
    return sum(parts) if is_number else next((one for one in parts if one is not None), None)
