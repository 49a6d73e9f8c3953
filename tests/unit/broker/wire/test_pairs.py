"""The pairs that the scorer takes: each kind is a message of its own."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from memshare_broker.delivery.hops import SCORE
from memshare_broker.wire.messages import AgentPair, AnsweredTask, OutsidePair, PartPair, RegradePair, SeedPair

PAIR = {
    "journey": "j", "agent": "plan", "kind": None, "pool": "plan", "rubric": "plan", "prompt": "Rome",
    "answer": "Walk.", "submitter": "ada",
}  # fmt: skip
SHOWN = [{"id": str(UUID(int=1)), "similarity": 0.5}]


@pytest.mark.parametrize(
    ("kind", "fields", "task_id"),
    [
        (AgentPair, {"what": "agent", "model": "m", "shown": SHOWN, "randomized": True}, "j"),
        (PartPair, {"what": "part", "part_of": "whole", "shown": SHOWN}, "j"),
        (OutsidePair, {"what": "offer", "shown": SHOWN}, "j"),
        (SeedPair, {"what": "seed"}, None),
        (RegradePair, {"what": "regrade", "memory_id": str(UUID(int=1))}, "j"),
    ],
)
def test_each_kind_is_read_as_what_it_says_and_written_as_it_came(
    kind: type[AnsweredTask], fields: dict[str, Any], task_id: str | None
) -> None:
    read = SCORE.read(PAIR | fields)

    assert type(read) is kind
    assert read.task_id == task_id
    assert SCORE.read(SCORE.next(read).as_json) == read


@pytest.mark.parametrize(
    "fields",
    [
        {},  # as it was before kinds had messages
        {"what": "task"},
        {"what": "offer", "randomized": True},
        {"what": "seed", "shown": SHOWN},
        {"what": "seed", "model": "m"},
        {"what": "part"},
        {"what": "regrade"},
    ],
    ids=str,
)
def test_no_kind_takes_what_is_anothers_or_lacks_what_makes_it_one(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SCORE.read(PAIR | fields)
