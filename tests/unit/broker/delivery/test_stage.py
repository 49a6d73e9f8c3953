from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from memshare_broker.delivery.ledger import Failures
from memshare_broker.delivery.stage import BACK_OFF_CAP, OUTAGE_CAP, _countdown
from memshare_broker.errors import OUTAGES, Reason, TryAgain
from memshare_broker.wire.forms import readable
from memshare_broker.wire.messages import AgentTask, Name


@pytest.mark.parametrize("asked", [0, 7.5, 86_400])
def test_a_retry_waits_as_long_as_it_was_asked_to_and_up_to_a_second_more(asked: float) -> None:
    waits = {_countdown(TryAgain("Busy.", wait=asked), Failures(tries, 9, 0)) for tries in range(1, 7)}

    assert len(waits) > 1, "jitter keeps tasks that failed together apart"
    assert asked <= min(waits) <= max(waits) <= asked + 1


def test_a_retry_that_was_not_told_waits_longer_each_time_up_to_a_limit() -> None:
    waits = [[_countdown(TryAgain("Busy."), Failures(tries, 9, 0)) for _ in range(500)] for tries in range(1, 13)]

    for retries, some in enumerate(waits):
        limit = min(2 * 2**retries, BACK_OFF_CAP)
        assert 1 <= min(some) <= max(some) <= 1 + limit
        assert max(some) > limit / 2
        assert len(set(some)) > 1, "jitter keeps tasks that failed together apart"


@pytest.mark.parametrize("reason", sorted(OUTAGES - {"rate limit"}))
@pytest.mark.parametrize(("lasted", "limit"), [(0.0, 0.0), (8.0, 8.0), (9_999.0, OUTAGE_CAP)])
def test_in_an_outage_a_retry_waits_for_as_long_as_it_has_lasted_up_to_a_limit(
    reason: Reason, lasted: float, limit: float
) -> None:
    waits = [_countdown(TryAgain("Away.", reason=reason), Failures(0, lasted, 0)) for _ in range(500)]

    assert 1 + limit / 2 <= max(waits) <= 1 + limit
    assert min(waits) <= 1 + limit / 2


def test_a_rate_limit_is_waited_out_for_as_long_as_it_has_lasted_up_to_a_minute() -> None:
    limited = TryAgain("Too often.", reason="rate limit")
    waits = [[_countdown(limited, Failures(0, lasted, 0)) for _ in range(500)] for lasted in (0.0, 8.0, 9_999.0)]

    assert [max(some) for some in waits] == pytest.approx([1, 9, 1 + BACK_OFF_CAP], rel=0.2)
    assert min(waits[-1]) < BACK_OFF_CAP / 2, "jitter keeps tasks that failed together apart"
    assert 20 <= _countdown(TryAgain("Too often.", wait=20, reason="rate limit"), Failures(0, 0, 0)) <= 21


def fault_of(form: Any, value: Any) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(form).validate_python(value)
    return caught.value


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"prompt": "x", "colour": "red"}, "The task: 'colour' is none of its fields."),
        ({"messages": [{"role": "user"}]}, "The task: 'messages.0.content' is missing."),
        ({}, "The task: give a 'prompt', or a conversation as 'messages': one of the two."),
        ({"prompt": "x", "memories": 21}, "The task: memories: Input should be less than or equal to 20, not 21."),
    ],
)
def test_what_is_wrong_with_a_message_is_said_in_one_line(body: dict[str, Any], expected: str) -> None:
    assert readable(fault_of(AgentTask, body), "The task") == expected


def test_what_is_wrong_with_a_plain_value_names_no_field() -> None:
    assert readable(fault_of(Name, "No Name"), "The pool") == (
        "The pool: expected up to 41 letters (a-z), digits, - and _, the first a letter."
    )
