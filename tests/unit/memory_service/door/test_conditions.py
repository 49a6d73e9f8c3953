"""Conditions on memories: one shape for people."""

from __future__ import annotations

from datetime import UTC, date, datetime

from memshare.client.rest.conditions import ConditionArguments, FilterArguments
from memshare.doors.forms import Filters
from memshare_memory.door.conditions import Conditions


def test_conditions_become_what_the_store_is_asked() -> None:
    days = Conditions(agent="plan", since=date(2026, 5, 1), until=date(9999, 12, 31), words=("lamp",), score_from=80)

    where = days.where(pool="poem", status="active")

    since = datetime(2026, 5, 1, tzinfo=UTC).timestamp()
    assert where.created_before is not None
    assert where.created_before > since
    assert (where.agent, where.pool, where.status, where.words) == ("plan", "poem", "active", ("lamp",))
    assert (where.created_from, where.score_from, where.kind) == (since, 80, None)


def test_what_a_client_may_name_is_what_the_server_takes() -> None:
    assert ConditionArguments.__annotations__.keys() == Conditions.model_fields.keys()
    assert FilterArguments.__annotations__.keys() == Filters.model_fields.keys()
