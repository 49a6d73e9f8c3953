"""Conditions on memories: one shape for people, which messages of earlier releases are read as, too."""

from __future__ import annotations

from datetime import UTC, date, datetime
from uuid import uuid4

import pytest
from pydantic import ValidationError

from memshare.client.rest.conditions import ConditionArguments, FilterArguments
from memshare.doors.forms import Filters
from memshare_memory.door.conditions import Conditions
from memshare_memory.door.messages import RecallRequest
from memshare_memory.stores.store import Where


def test_conditions_become_what_the_store_is_asked() -> None:
    days = Conditions(agent="plan", since=date(2026, 5, 1), until=date(9999, 12, 31), words=("lamp",), score_from=80)

    where = days.where(pool="poem", status="active")

    since = datetime(2026, 5, 1, tzinfo=UTC).timestamp()
    assert where.created_before is not None
    assert where.created_before > since
    assert (where.agent, where.pool, where.status, where.words) == ("plan", "poem", "active", ("lamp",))
    assert (where.created_from, where.score_from, where.kind) == (since, 80, None)


def test_a_recall_of_an_earlier_release_is_read_as_before() -> None:
    hidden, out = uuid4(), uuid4()
    old = {
        "pool": "poem",
        "text": "lamp",
        "k": 3,
        "among": {"kind": "limerick", "words": ["red"], "ids_not": [str(hidden)]},
        "since": "2026-05-01",
        "until": "2026-05-02",
        "words": [" lamp "],
        "not_shown": [str(out)],
    }

    read = RecallRequest.model_validate(old)

    first = datetime(2026, 5, 1, tzinfo=UTC).timestamp()
    assert read.among == Where(
        kind="limerick", words=("red", "lamp"), ids_not=(hidden, out), created_from=first,
        created_before=first + 2 * 86_400,
    )  # fmt: skip
    assert RecallRequest.model_validate_json(read.model_dump_json()).among.created_from == first
    with pytest.raises(ValidationError, match="words"):
        RecallRequest.model_validate({**old, "words": [""]})


def test_what_a_client_may_name_is_what_the_server_takes() -> None:
    assert ConditionArguments.__annotations__.keys() == Conditions.model_fields.keys()
    assert FilterArguments.__annotations__.keys() == Filters.model_fields.keys()
