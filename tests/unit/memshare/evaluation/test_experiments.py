from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

import pytest

from memshare.evaluation.data import DataItem, Split
from memshare.evaluation.evaluate import no_version, prepare, thresholds
from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.experiments.growth import BANDS, POOR, USELESS, drawn, equal, spoiled, told
from memshare.evaluation.experiments.knowledge import says, short_questions
from memshare.evaluation.folder import ExperimentPlan, Folder, Prepared, read_preparation, write_preparation
from memshare.evaluation.lab import Lab, Measured, share_of
from memshare.evaluation.queues import AnsweredItem, GradedItem
from memshare.evaluation.request import ExperimentRequest
from memshare.evaluation.variants import NOTHING_PASSES, Label, Setup, write_variants
from memshare_agents.roster import load_roster
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import derived_id
from memshare_scorer.rubric import find_rubric
from tests.support.counted_queues import CountedQueues
from tests.support.experiments import cell


def item(name: str, answer: str, kind: str = "riddle") -> DataItem:
    return DataItem(id=name, agent="logic", kind=kind, prompt=f"{name}?", answer=answer)


def plan(experiment: str = "memories", seed: int = 7) -> ExperimentPlan:
    return ExperimentPlan(
        experiment=experiment,
        items=("a", "b"),
        models=("offline",),
        scorer="offline",
        trainer="offline",
        votes=1,
        encoder="e",
        agents={"logic": "d"},
        version="0",
        seed=seed,
    )


def test_half_of_the_spoiled_pairs_have_anothers_answer_and_half_the_half_of_their_own() -> None:
    bad = spoiled([item("a", "one two three four"), item("b", "five six seven eight")])

    assert [(pair.answer, pair.by) for pair in bad] == [("one two t", POOR), ("one two three", USELESS)]


def test_half_of_the_bad_pairs_score_near_nothing_and_half_near_50_however_strict_the_scorer_is() -> None:
    texts = ["one two three four five six seven eight", "nine ten eleven twelve thirteen fourteen"]
    items = [item(str(number), texts[number % 2] * 4) for number in range(12)]
    asked: list[int] = []

    def grade(pairs: Sequence[AnsweredItem]) -> list[float]:
        """By the square of the length: half a text is worth 25, and a single word more than nothing."""
        asked.append(len(pairs))
        return [100 * (len(pair.answer) / len(pair.item.answer)) ** 2 + 20 * (len(pair.answer) > 3) for pair in pairs]

    bad = drawn(items, grade)

    assert all(pair.score is not None and BANDS[pair.by][0] <= pair.score <= BANDS[pair.by][1] for pair in bad)
    assert [pair.by for pair in bad] == [POOR, USELESS] * 6
    assert asked[0] == 12
    assert asked == sorted(asked, reverse=True)
    assert asked[-1] < 12, "only what was out of its band is graded again"


def test_bad_pairs_that_no_draw_brings_near_are_told() -> None:
    bad = drawn([item("a", "one two three"), item("b", "four five six")], lambda pairs: [90.0 for _ in pairs])

    assert "1 of them outside 0 to 15" in told(bad)
    assert "1 of them outside 35 to 65" in told(bad)


def test_it_is_said_where_the_adapter_shows_what_the_encoder_alone_shows() -> None:
    def shown(condition: str, memory: str, version: int) -> list[Measured]:
        [one] = cell(condition, [50.0])
        return [one.model_copy(update={"shown": (derived_id(memory),), "retriever_version": version})]

    before = shown("untrained", "a", 0)

    assert "no version" in (equal([*before, *shown("adapter", "a", 0)], "openai:one") or "")
    assert "all 1 tasks" in (equal([*before, *shown("adapter", "a", 3)], "openai:one") or "")
    assert "in 1 of 1 tasks" in (equal([*before, *shown("adapter", "b", 3)], "openai:one") or "")


def test_it_is_said_of_each_model_where_no_version_of_a_retriever_came_about() -> None:
    lab = Lab(CountedQueues(), Split((), (), ()), {}, {}, ("one", "two"))
    lab.measured = cell("3 memories", [50.0, 60.0], model="one", memories=2)
    lab.measured += [
        one.model_copy(update={"retriever_version": 4}) for one in cell("3 memories", [50.0], model="two", memories=2)
    ]

    assert [note.partition(":")[0] for note in no_version(lab)] == ["one"]


def test_what_an_answersays_is_compared_by_whole_words_without_case_and_white_space() -> None:
    marks = says(first=lambda _: "A  River", second=lambda _: "age")

    assert marks(item("a", "!"), "it is a river\nof language", ()) == {"first": 1.0, "second": 0.0}


def test_an_answer_is_changed_to_one_of_its_own_kind_that_is_nobodys() -> None:
    test = (item("a", "1"), item("b", "2", "pun"), item("c", "a long sonnet " * 9), item("d", "4", "puzzle"))
    queries = (item("e", "1"), item("f", "6"), item("g", "7", "pun"))

    usable, other = short_questions(Split(seeds=(), queries=queries, test=test))

    assert [one.id for one in usable] == ["a", "b"]
    assert other == {"a": "6", "b": "7"}


def test_a_preparation_in_which_something_was_given_up_is_none(tmp_path: Path) -> None:
    class Down(CountedQueues):
        def grade(self, pairs: Sequence[AnsweredItem], setup: Setup) -> list[GradedItem]:  # noqa: ARG002
            return [GradedItem("", None, "The key is wrong.") for _ in pairs]

    some = tuple(item(str(number), str(number)) for number in range(10))
    request = ExperimentRequest(
        EXPERIMENTS["memories"], (), Split(some[:2], some[2:6], some[6:]), ("offline",), 7, tmp_path
    )

    with pytest.raises(MemshareError, match=r"2 of 2 standard answers .* The key is wrong"):
        prepare(request, Down(), Settings(data=tmp_path))


def test_the_threshold_of_all_copies_of_an_agent_is_the_mean_of_its_seeds(tmp_path: Path) -> None:
    some = tuple(item(str(number), str(number)) for number in range(10))
    request = ExperimentRequest(
        EXPERIMENTS["memories"], (), Split(some[:2], some[2:6], some[6:]), ("offline",), 7, tmp_path
    )
    prepared = {one.id: Prepared(prompt="?", score=float(number)) for number, one in enumerate(some)}

    assert thresholds(request, prepared) == {"logic": 0.5}


def test_the_share_of_bad_memories_is_of_those_that_were_shown() -> None:
    bad, good = uuid4(), uuid4()
    marks = share_of({bad}, "bad")

    assert marks(item("a", "!"), "", [bad, good, good]) == {"bad": pytest.approx(1 / 3)}
    assert marks(item("a", "!"), "", []) == {}


def test_a_variant_is_an_agent_with_a_model_a_pool_and_a_threshold_of_its_own(tmp_path: Path) -> None:
    strict = Setup(Label("strict", lambda pool, number: f"{pool}-of-{number}", NOTHING_PASSES), "mistral:small", 1)

    own = Setup(Label("own", lambda pool, _: pool), "offline", 0)

    write_variants(tmp_path / "agents", None, ["poem", "reasoning"], [strict, own], {"poem": 63.5})

    made = load_roster(tmp_path / "agents")["poem-strict-1"]
    rubric = find_rubric(made.rubric, tmp_path / "agents")
    assert (made.model, made.pool, made.kinds) == ("mistral:small", "poem-of-1", load_roster(None)["poem"].kinds)
    assert find_rubric("poem-own-0", tmp_path / "agents").threshold == 63.5
    assert (rubric.threshold, rubric.approved, rubric.version) == (100, True, find_rubric("poem", None).version)


def test_a_folder_is_for_one_plan(tmp_path: Path) -> None:
    Folder(tmp_path / "memories").begin(plan())
    Folder(tmp_path / "memories").begin(plan())

    with pytest.raises(BadInput, match="other seed"):
        Folder(tmp_path / "memories").begin(plan(seed=8))


def test_questions_are_shared_by_experiments_on_the_same_data_and_by_no_others(tmp_path: Path) -> None:
    known = {"a": Prepared(prompt="?", score=50.0)}
    for name in ("memories", "growth"):
        Folder(tmp_path / name).begin(plan(name))

    write_preparation(tmp_path, plan(), known)

    assert read_preparation(tmp_path, plan("growth")) == known
    assert read_preparation(tmp_path, plan("growth", seed=8)) == {}


def test_an_experiment_goes_on_with_its_own_questions_whatever_others_had_since(tmp_path: Path) -> None:
    first, other = {"a": Prepared(prompt="1?", score=None)}, {"a": Prepared(prompt="2?", score=None)}
    for name in ("memories", "growth"):
        Folder(tmp_path / name).begin(plan(name))

    write_preparation(tmp_path, plan(), first)
    write_preparation(tmp_path, plan("growth", seed=8), other)

    assert read_preparation(tmp_path, plan()) == first


def test_a_file_that_was_cut_is_named(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"experiment": "mem', encoding="utf-8")

    with pytest.raises(BadInput, match=r"result\.json"):
        Folder(tmp_path).result()
