"""Values that would make a pool unreadable are refused at the door, before they are near the pool."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from memshare_broker.wire.grades import GradedTask, VerdictTask
from memshare_memory.door.client import DoorMethod, MemoryClient
from tests.support.memories import remembered

CRITERIA = '{"rhyme": {"low": -1, "high": 1, "points": 10}}'
WHOLE = remembered("red lamp", score=90)[0].model_dump_json()


def changed(field: str, value: str) -> str:
    """The memory as JSON with another value, written as it is; the last one of a name counts."""
    return WHOLE[:-1] + f', "{field}": {value}}}'


@pytest.mark.parametrize(
    ("method", "body"),
    [
        (MemoryClient.restore, f"[{changed('created', '1e999')}]"),
        (MemoryClient.restore, f"[{changed('created', 'NaN')}]"),
        (MemoryClient.restore, f"[{changed('score', '-1')}]"),
        (MemoryClient.restore, f"[{changed('pool', json.dumps('x' * 1_000_000))}]"),
        (MemoryClient.restore, f"[{changed('submitter', json.dumps(chr(27) + '[2J'))}]"),
        (MemoryClient.restore, f"[{changed('criteria', CRITERIA)}]"),
        (MemoryClient.add, '[{"pool": "", "answer": "Yes."}]'),
        (MemoryClient.add, '[{"pool": "poem", "answer": "Yes.", "kind": "\\n"}]'),
        (MemoryClient.add, '[{"pool": "poem", "answer": "Yes.", "score": Infinity}]'),
        (MemoryClient._recall, '{"pool": "", "text": "lamp", "k": 3}'),
    ],
)
def test_a_request_with_such_a_value_is_refused(method: DoorMethod[object, object], body: str) -> None:
    with pytest.raises(ValidationError):
        method.takes.validate_json(body)


@pytest.mark.parametrize("verdict", [float("nan"), float("inf"), -0.1])
def test_a_verdict_that_is_no_share_is_refused(verdict: float) -> None:
    with pytest.raises(ValidationError):
        VerdictTask(journey="1", pool="poem", prompt="A lamp", shown=(), verdict=verdict)


def test_a_score_that_is_no_number_is_refused() -> None:
    task = {
        "what": "agent", "journey": "1", "agent": "poem", "kind": None, "pool": "poem", "rubric": "poem",
        "prompt": "A lamp", "answer": "Yes.", "model": None, "submitter": "ada", "shown": [],
    }  # fmt: skip
    score = {
        "total": float("nan"), "threshold": 81, "accepted": True, "criteria": {}, "rubric": "poem",
        "rubric_version": "1", "model": "offline", "usage": {},
    }  # fmt: skip
    assert GradedTask.model_validate({"task": task, "score": score | {"total": 90}}).score.total == 90

    with pytest.raises(ValidationError, match="finite"):
        GradedTask.model_validate({"task": task, "score": score})
