from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from memshare_broker.delivery.hops import SETTLE
from memshare_broker.errors import BadInput, GiveUp
from memshare_broker.observe import tracing
from memshare_broker.observe.metrics import read_field
from memshare_broker.wire.grades import GradedTask, Score, Settlement
from memshare_broker.wire.messages import OutsidePair, PartPair, RegradePair, SeedPair, derived_id
from memshare_llm.models import NoModel, NoModelSet
from memshare_scorer.rubric import BUNDLED, find_rubric
from memshare_scorer.tasks import ScoreStage
from tests.support.answered import a_seed, a_task
from tests.support.scripted_chat import ScriptedChat
from tests.support.traced import named, traced


def no_seeds(_pool: str) -> float | None:
    return None


def full_marks(rubric: str) -> dict[str, dict[str, float]]:
    criteria = find_rubric(rubric, None).for_kind("travel")
    return {one.name: {"low": one.points, "high": one.points} for one in criteria}


def test_a_graded_pair_goes_to_the_memory_service_with_its_score() -> None:
    task = a_task("plan")

    outcome = ScoreStage(ScriptedChat(full_marks("plan")), None, 1, no_seeds).run("journey-1", task)

    assert isinstance(outcome.record, Score)
    assert (outcome.record.total, outcome.record.threshold) == (100, 81)
    assert outcome.record.accepted
    assert outcome.following is not None
    assert outcome.following.hop is SETTLE
    assert outcome.following.body == GradedTask(task=task, score=outcome.record)


def test_metrics_of_grades_count_answers_to_tasks_alone() -> None:
    same = a_seed("plan").model_dump(exclude={"what"})
    pairs = (
        a_task("plan"), OutsidePair(**same), SeedPair(**same), PartPair(**same, part_of="whole"),
        RegradePair(**same, memory_id=UUID(int=1)),
    )  # fmt: skip

    stages = [(ScoreStage(ScriptedChat(full_marks("plan")), None, 1, no_seeds), pair) for pair in pairs]
    counted = [{read_field(one.field)[0] for one in stage.run("j", pair).counted} for stage, pair in stages]

    graded = {"memshare_graded_total", "memshare_score_bucket", "memshare_score_sum"}
    assert counted == [graded, graded, set(), set(), set()]


def test_a_grade_is_told_as_evaluations_of_the_whole_and_of_each_criterion(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = ScoreStage(ScriptedChat(full_marks("plan")), None, 1, no_seeds)

    with traced(monkeypatch) as spans, tracing.stage("journey-1", "score", {}, {}):
        stage.run("journey-1", a_task("plan"))

    span = named(spans, "score")
    assert (span.attributes or {})["memshare.score"] == 100
    assert {event.name for event in span.events} == {"gen_ai.evaluation.result"}
    told = [event.attributes or {} for event in span.events]
    assert [one["gen_ai.evaluation.name"] for one in told] == ["plan", *full_marks("plan")]
    assert {one["gen_ai.evaluation.score.value"] for one in told} == {100}
    assert told[0]["gen_ai.evaluation.score.label"] == "accepted"


def mine(text: str, name: str = "mine") -> str:
    """The text of a rubric as one that is approved under another name."""
    return text.replace('rubric = "plan"', f'rubric = "{name}"')


def test_the_threshold_is_the_mean_of_the_seeds_of_the_tasks_pool(tmp_path: Path) -> None:
    text = (BUNDLED / "plan.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.rubric.toml").write_text(mine(text).replace("threshold = 81", 'threshold = "mean-of-seeds"'))

    scoring = ScoreStage(ScriptedChat(full_marks("plan")), tmp_path, 1, {"plan": 64.5}.get)
    record = scoring.run("journey-1", a_task("mine")).record

    assert isinstance(record, Score)
    assert record.threshold == 64.5


def test_a_seed_is_not_judged_by_the_mean_of_other_seeds(tmp_path: Path) -> None:
    text = (BUNDLED / "plan.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.rubric.toml").write_text(mine(text).replace("threshold = 81", 'threshold = "mean-of-seeds"'))
    (tmp_path / "fixed.rubric.toml").write_text(mine(text, "fixed").replace("threshold = 81", "threshold = 70"))

    for rubric, threshold in (("mine", 81), ("fixed", 70)):
        task = a_seed(rubric)
        record = ScoreStage(ScriptedChat(full_marks("plan")), tmp_path, 1, {"plan": 64.5}.get).run("j", task).record

        assert isinstance(record, Score)
        assert record.threshold == threshold


def test_a_rubric_that_is_not_approved_is_not_graded_by(tmp_path: Path) -> None:
    text = (BUNDLED / "plan.toml").read_text(encoding="utf-8")
    file = tmp_path / "mine.rubric.toml"
    file.write_text(text.partition("[approval]")[0])
    chat = ScriptedChat()

    with pytest.raises(GiveUp, match=r"Rubric 'mine' .* is not approved") as caught:
        ScoreStage(chat, tmp_path, 1, no_seeds).run("journey-1", a_task("mine"))

    assert f"`memshare rubric approve {file}`" in str(caught.value)
    assert f"`memshare dead retry {derived_id('journey-1', 'score')}`" in str(caught.value)
    assert chat.conversations == []


def test_a_pair_whose_rubric_cannot_be_read_is_given_up_for_the_rubric(tmp_path: Path) -> None:
    (tmp_path / "mine.rubric.toml").write_text("x = = 1")

    with pytest.raises(GiveUp, match=r"mine\.rubric\.toml:1: .* Mend the file, .*`memshare dead retry ") as caught:
        ScoreStage(ScriptedChat(), tmp_path, 1, no_seeds).run("journey-1", a_task("mine"))

    assert caught.value.reason == "rubric"


def test_an_unknown_rubric_is_refused_with_the_known_ones() -> None:
    known = "Unknown rubric 'haiku': expected one of integrated, logic, plan, poem"
    with pytest.raises(BadInput, match=rf"{known}\. .*scorer.* MEMSHARE_AGENTS_DIR .*haiku\.rubric\.toml"):
        ScoreStage(ScriptedChat(), None, 1, no_seeds).run("journey-1", a_task("haiku"))


def test_without_a_model_a_pair_ends_with_no_score_and_no_memory() -> None:
    outcome = ScoreStage(NoModel(), None, 1, no_seeds).run("journey-1", a_task("plan"))

    assert isinstance(outcome.record, Settlement)
    assert (outcome.record.outcome, outcome.record.memory_id) == ("not graded", None)
    assert outcome.record.reason.startswith("no model")
    assert "MEMSHARE_MODEL" in outcome.record.reason
    assert (outcome.followings, outcome.kept) == ((), {"outcome": "not graded"})


def test_without_a_model_a_seed_is_given_up_so_that_it_can_be_tried_again() -> None:
    with pytest.raises(NoModelSet, match="Not graded: no model"):
        ScoreStage(NoModel(), None, 1, no_seeds).run("journey-1", a_seed("plan"))
