"""Conditions on memories: one shape for people."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from pydantic import ValidationError

from memshare.client.rest.calls.memories import ConditionArguments, FilterArguments
from memshare.operations.forms import Filters
from memshare_broker.wire.forms import readable
from memshare_memory.door.messages import Conditions

NO_DAYS = (
    "2026-11-24T10:00:00", "2026-11-24T10:00:00Z", "2026-11-24T00:00:01+05:30", "24.11.2026", "11/24/2026", "2026-11",
    "2026-13-01", "yesterday", "", "1795500000", 1795500000, 3.5, True, [], {}, "2026-11-24 ",
)  # fmt: skip


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


@pytest.mark.parametrize("given", NO_DAYS, ids=repr)
@pytest.mark.parametrize("name", ["since", "until"])
def test_what_is_no_day_is_refused_with_a_day_as_it_is_expected(name: str, given: object) -> None:
    with pytest.raises(ValidationError) as caught:
        Conditions.model_validate({name: given})

    assert readable(caught.value, "The search").startswith(
        f"The search: {name}: expected a day such as 2026-11-24 (UTC)"
    )


@pytest.mark.parametrize("given", ["2026-11-24", date(2026, 11, 24), "2026-11-24T00:00:00Z"])
def test_a_day_is_taken_as_it_was(given: object) -> None:
    assert Conditions.model_validate({"since": given}).since == date(2026, 11, 24)
