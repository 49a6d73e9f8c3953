from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from agents.roster import load_roster
from broker.errors import BadInput
from memshare.evaluation.data import Item
from memshare.evaluation.experiments.bias import POOR, USELESS, spoiled
from memshare.evaluation.experiments.knowledge import _another, _says
from memshare.evaluation.folder import Folder, Plan, Preparation, Prepared, read_preparation
from memshare.evaluation.lab import share_of
from memshare.evaluation.variants import NOTHING_PASSES, Label, Setup, write_variants
from scorer.rubric import find_rubric


def item(name: str, answer: str, kind: str = "riddle") -> Item:
    return Item(id=name, agent="logic", kind=kind, prompt=f"{name}?", answer=answer)


def plan(experiment: str = "memories", seed: int = 7) -> Plan:
    return Plan(
        experiment=experiment,
        items=("a", "b"),
        models=("offline",),
        scorer="offline",
        trainer="offline",
        votes=1,
        encoder="e",
        seed=seed,
    )


def test_half_of_the_spoiled_pairs_have_anothers_answer_and_half_the_half_of_their_own() -> None:
    bad = spoiled([item("a", "one two three four"), item("b", "five six seven eight")])

    assert [(pair.answer, pair.by) for pair in bad] == [("one two t", POOR), ("one two three", USELESS)]


def test_what_an_answer_says_is_compared_without_case_and_white_space() -> None:
    marks = _says(lambda _: "A  River", lambda _: "a road")(item("a", "!"), "it is a river\nof course", ())

    assert marks == {"says what stands": 1.0, "says what was taken back": 0.0}


def test_an_answer_is_changed_to_one_of_its_own_kind() -> None:
    items = [item("a", "1"), item("b", "2", "pun"), item("c", "3"), item("d", "4", "pun")]

    assert [_another(one, items).id for one in items] == ["c", "d", "a", "b"]


def test_the_share_of_bad_memories_is_of_those_that_were_shown() -> None:
    bad, good = uuid4(), uuid4()
    marks = share_of({bad}, "bad")

    assert marks(item("a", "!"), "", [bad, good, good]) == {"bad": pytest.approx(1 / 3)}
    assert marks(item("a", "!"), "", []) == {}


def test_a_variant_is_an_agent_with_a_model_a_pool_and_a_threshold_of_its_own(tmp_path: Path) -> None:
    strict = Setup(Label("strict", lambda pool, number: f"{pool}-of-{number}", NOTHING_PASSES), "mistral:small", 1)

    write_variants(tmp_path / "agents", None, ["poem", "reasoning"], [strict])

    made = load_roster(tmp_path / "agents")["poem-strict-1"]
    rubric = find_rubric(made.rubric, tmp_path / "agents")
    assert (made.model, made.pool, made.kinds) == ("mistral:small", "poem-of-1", load_roster(None)["poem"].kinds)
    assert (rubric.threshold, rubric.approved, rubric.version) == (100, True, find_rubric("poem", None).version)


def test_a_folder_is_for_one_plan(tmp_path: Path) -> None:
    Folder(tmp_path / "memories").begin(plan())
    Folder(tmp_path / "memories").begin(plan())

    with pytest.raises(BadInput, match="other seed"):
        Folder(tmp_path / "memories").begin(plan(seed=8))


def test_questions_are_shared_by_experiments_on_the_same_data_and_by_no_others(tmp_path: Path) -> None:
    known = {"a": Prepared(prompt="?", score=50.0)}
    file = tmp_path / "prepared.json"
    file.write_text(Preparation(plan=plan(), items=known).model_dump_json(), encoding="utf-8")

    assert read_preparation(file, plan("growth")) == known
    assert read_preparation(file, plan(seed=8)) == {}


def test_a_file_that_was_cut_is_named(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"experiment": "mem', encoding="utf-8")

    with pytest.raises(BadInput, match=r"result\.json"):
        Folder(tmp_path).result()
