"""A pair from outside is graded as an answer of an agent: for its pool, by its rubric, and with nothing to add."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from memshare_broker.errors import BadInput
from memshare_broker.presence import AgentCard
from memshare_broker.wire.grades import GradedTask, OfferedPair
from memshare_scorer.grading import KnownAgents
from memshare_scorer.rubric import find_rubric
from memshare_scorer.tasks import ScoreStage
from tests.support.scripted_chat import ScriptedChat

COOK = 'description = "Cooks."\ninstructions = "You cook."\npool = "kitchen"\nrubric = "plan"\n[kinds.soup]\n'


def pair(**more: Any) -> OfferedPair:
    fields = {"agent": "plan", "pool": "plan", "rubric": "plan", "kind": "travel", "prompt": "Rome", "answer": "Walk."}
    return OfferedPair.model_validate(fields | more)


def scoring(agents: KnownAgents) -> ScoreStage:
    marks = {one.name: {"low": 0, "high": one.points / 2} for one in find_rubric("plan", None).for_kind("travel")}
    return ScoreStage(ScriptedChat(marks), None, 1, lambda _: None, agents=agents)


def test_a_pair_of_an_agents_own_pool_and_rubric_is_graded_and_known_as_offered() -> None:
    shown = {"id": str(UUID(int=1)), "similarity": 0.5}

    outcome = scoring(KnownAgents()).offer("journey", pair(shown=[shown]))

    assert [type(one.body) for one in outcome.followings] == [GradedTask]
    task = outcome.followings[0].body.task  # type: ignore[attr-defined]
    assert (task.what, task.shown[0].share) == ("offer", None)


@pytest.mark.parametrize(
    ("forged", "said"),
    [
        ({"rubric": "poem"}, "rubric 'plan'"),
        ({"pool": "logic"}, "pool 'plan'"),
        ({"pool": "begun-by-mallory"}, "pool 'plan'"),
        ({"agent": "nobody"}, "No agent is called 'nobody'"),
        ({"agent": "../poem", "pool": "poem", "rubric": "poem"}, "No agent is called '../poem'"),
        ({"kind": "sonnet"}, "no kind 'sonnet'"),
    ],
)
def test_another_pool_rubric_kind_or_agent_than_there_is_costs_no_call(forged: dict[str, str], said: str) -> None:
    without_calls = ScoreStage(ScriptedChat(), None, 1, lambda _: None)

    with pytest.raises(BadInput, match=said):
        without_calls.offer("journey", pair(**forged))


def test_nobody_outside_says_a_share() -> None:
    with pytest.raises(ValidationError, match="share"):
        pair(shown=[{"id": str(UUID(int=1)), "similarity": 1.0, "share": 1.0}])


def test_agents_are_those_of_the_users_folder_and_of_workers_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "cook.toml").write_text(COOK)
    asked = []

    def announced() -> Iterable[AgentCard]:
        asked.append(1)
        yield AgentCard(name="baker", kinds=("bread",), pool="kitchen", model="m", rubric="plan")
        yield AgentCard(name="cook", kinds=("soup", "stew"), pool="kitchen", model="m", rubric="plan")

    known = KnownAgents(tmp_path, announced)
    in_kitchen = {"pool": "kitchen", "rubric": "plan"}

    known.require(pair(agent="cook", kind="soup", **in_kitchen))
    assert asked == [], "workers are asked for what no file says"
    known.require(pair(agent="baker", kind="bread", **in_kitchen))
    known.require(pair(agent="cook", kind="stew", **in_kitchen))
    with pytest.raises(BadInput, match="pool 'kitchen'"):
        known.require(pair(agent="baker", kind="bread", pool="plan", rubric="plan"))


RUBRIC = """
domain = "Trips"
[[criteria]]
name = "pace"
points = 100
description = "How restful."
"""


def trying(tmp_path: Path, rubric: str) -> ScoreStage:
    (tmp_path / "calm.rubric.toml").write_text(rubric)
    return ScoreStage(ScriptedChat({"pace": {"low": 20, "high": 40}}), tmp_path, 1, lambda _: None)


def test_a_pair_is_tried_by_a_rubric_that_nobody_has_approved_and_nothing_follows(tmp_path: Path) -> None:
    outcome = trying(tmp_path, RUBRIC).offer("journey", pair(trial="calm"))

    assert (outcome.record.total, outcome.record.rubric) == (30, "calm")  # type: ignore[attr-defined]
    assert outcome.followings == ()
    assert outcome.counted == ()


def test_programs_of_a_rubric_that_nobody_has_approved_are_not_run(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="'calm'"):
        trying(tmp_path, RUBRIC + 'check = ["touch", "here"]\n').offer("journey", pair(trial="calm"))

    assert not (tmp_path / "here").exists()
