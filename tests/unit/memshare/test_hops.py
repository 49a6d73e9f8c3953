"""The table of hops and the workers say the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memshare.worker import parts
from memshare_broker.app import make_app
from memshare_broker.delivery.hops import ANSWER, CREDIT, HOPS, LEARN, QUESTION, SCORE, SETTLE, Hop
from memshare_broker.settings import Settings
from memshare_broker.wire.grades import VerdictTask
from memshare_broker.wire.messages import AgentTask, derived_id

VERDICT = VerdictTask(journey="j", pool="poem", prompt="x", shown=(), verdict=1.0)


def test_workers_register_a_task_for_each_hop_and_for_nothing_else_but_recall(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    app = make_app(settings=settings)

    for part in parts:
        part.register(app, settings)

    agents = ("poem", "logic", "plan", "reasoning")
    served = {name for name in app.tasks if not name.startswith("celery.")}
    assert {hop.of(agent).task for hop in HOPS for agent in agents} | {"memory_service.recall"} <= served
    ours = {name for name in served if name.partition(".")[0] in {hop.task.partition(".")[0] for hop in HOPS}}
    assert {name for name in ours if not name.startswith("agents.")} == {
        hop.task for hop in HOPS if hop not in (ANSWER, QUESTION)
    } | {"memory_service.recall"}


def test_a_message_that_begins_a_journey_has_its_id_and_any_other_a_derived_one() -> None:
    first = ANSWER.of("poem").next(AgentTask(prompt="x"), "t1").entry()
    later = CREDIT.next(VERDICT).entry("t1", 6)

    assert (first.id, first.journey, first.task, first.queue) == ("t1", "t1", "agents.poem", "poem")
    assert (first.begins, first.has_result) == (True, True)
    assert (later.id, later.journey, later.priority) == (str(derived_id("t1", "credit")), "t1", 6)
    assert (later.begins, later.has_result) == (False, False)


@pytest.mark.parametrize(
    ("hop", "decides"),
    [(SETTLE, True), (SCORE, True), (CREDIT, True), (LEARN, False)],
    ids=["settle", "score", "credit", "learn"],
)
def test_what_says_nothing_of_the_pair_does_not_decide(hop: Hop[Any, Any], decides: bool) -> None:
    assert (hop.kept is not None) is decides
