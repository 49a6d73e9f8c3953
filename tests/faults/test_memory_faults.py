"""The memory service killed, replaced by something that answers garbage, and backed up: short runs, with few tasks."""

from __future__ import annotations

import pytest

from tests.faults.run import forget, run
from tests.faults.scenarios import SCENARIOS
from tests.faults.verdict import failings
from tests.support.qdrant_server import NAMED

TASKS, SIZE = 60, 0.2


@pytest.mark.parametrize("name", ["memory killed", "memory garbage", "backup"])
def test_nothing_is_lost_stored_twice_or_answered_from_garbage_while_the_memory_service_is_away(name: str) -> None:
    scenario = next(one for one in SCENARIOS if one.name == name)

    result = run(scenario, TASKS, NAMED, SIZE)

    assert failings(result) == [], result
    assert result.count is not None
    assert result.count.submitted > TASKS
    assert result.count.stored > 0
    forget(result)
