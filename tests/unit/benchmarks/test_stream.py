"""`benchmarks.stream`: who is shown what, that it was sent, and what is made of the answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from benchmarks.stream import arms
from benchmarks.stream.__main__ import _figures
from benchmarks.stream.arms import TRIES, Answered, Bare
from benchmarks.stream.figures import by_author, difference, of_arm, places_of
from benchmarks.stream.relay import relaying
from benchmarks.stream.tasks import PEOPLE, Task, TaskSet, database_tasks, questions_of, spoiled
from memshare_broker.errors import Reason, TryAgain
from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import Reply
from memshare_llm.models import open_chat
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.scripted_chat import ScriptedChat
from tests.support.word_encoder import WordEncoder

AGENT = 'description = "Counts."\npool = "count"\nrubric = "count"\ninstructions = "Count."\n'


class Echo(ScriptedChat):
    """Says the number in the prompt, and that is wrong where the prompt says so."""

    def __init__(self, name: str = "echo") -> None:
        super().__init__()
        self.name = name

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        self.conversations.append(tuple(turns))
        self.schemas.append(schema)
        return Reply(text=turns[-1].content.split()[-1], model=self.name, usage=Usage())


def tasks(*prompts: str, unseen: Sequence[str] = ()) -> TaskSet:
    def all_of(some: Sequence[str]) -> list[Task]:
        return [Task(one, None, one.split()[-1]) for one in some]

    examples = [Task(f"example {number}", None, str(number)) for number in range(5)]
    return TaskSet("count", all_of(prompts), all_of(unseen), examples, lambda prompt, _: "wrong" not in prompt)


def run(arm: str, of: TaskSet, folder: Path, done: Sequence[Answered] = (), models: int = 1) -> list[Answered]:
    (folder / "count.toml").write_text(AGENT)
    saved: list[Answered] = []
    chats = [Echo(f"echo{number}") for number in range(models)]
    Bare(arm, chats, WordEncoder(), of, folder).run(done, 2, saved.append)
    return saved


STREAM = ("red lamp 1", "blue shoe 2", "wrong lamp 3", "red lamp again 4", "blue shoe again 5")


@pytest.mark.parametrize(
    ("arm", "shown"),
    [
        ("alone", [(), (), (), (), (), ()]),
        ("fixed", [("0", "1", "2")] * 6),
        ("own", [(), (), ("1", "2"), ("1", "2"), ("2", "1", "4"), ("1", "4", "2")]),
    ],
)
def test_each_rival_is_shown_its_own_right_answers_and_no_wrong_one(
    arm: str, shown: list[tuple[str, ...]], tmp_path: Path
) -> None:
    answered = run(arm, tasks(*STREAM, unseen=["red lamp 6"]), tmp_path)

    assert [one.right for one in answered] == [True, True, False, True, True, True]
    assert [(one.phase, one.place) for one in answered] == [*(("stream", at) for at in range(5)), ("unseen", 0)]
    assert [set(one.shown) for one in answered] == [set(some) for some in shown]
    assert [one.shown[:1] for one in answered] == [some[:1] for some in shown]


def test_what_is_possible_is_shown_answers_of_the_same_form_first(tmp_path: Path) -> None:
    stream = [
        Task("red lamp 1", None, "1", "a"),
        Task("blue shoe 2", None, "2", "b"),
        Task("old boat 3", None, "3", "c"),
    ]
    some = TaskSet("count", stream, [Task("red lamp 4", None, "4", "b")], [], lambda *_: True)

    [one] = run("possible", some, tmp_path, done=run("own", some, tmp_path)[:3])

    assert one.shown[:2] == ("2", "1")


def test_models_share_what_was_right_and_keep_to_themselves_otherwise(tmp_path: Path) -> None:
    some = tasks("red lamp 1", "red lamp 2", "red lamp 3", "red lamp 4")

    own, shared = (run(arm, some, tmp_path, models=2)[2:] for arm in ("own", "shared"))

    assert [one.by for one in own] == [("echo0",), ("echo1",)]
    assert [set(one.by) for one in shared] == [{"echo0", "echo1"}] * 2
    assert by_author({1: shared})["echo0 reads echo1"] == {"examples": 1, "right beside it": 1.0}


def test_one_of_four_people_gives_the_answer_to_a_question_of_another_form() -> None:
    examples = [Task(f"question {at}", None, str(at), "ab"[at % 5 == 4]) for at in range(8)]

    answers = spoiled(examples)

    assert [answer == task.answer for task, answer in zip(examples, answers, strict=True)] == [
        True,
        True,
        True,
        False,
    ] * 2
    forms = {task.answer: task.form for task in examples}
    assert [forms[answers[at]] != examples[at].form for at in (3, 7)] == [True, True]


def test_the_places_that_a_person_took_are_counted_by_quarters_of_the_stream() -> None:
    taken = [(PEOPLE[-1], "ann")] * 4 + [("ann",)] * 4
    stream = [Answered("stream", at, "m", "", False, by=by) for at, by in enumerate(taken)]

    assert places_of(PEOPLE[-1], {1: [*stream, Answered("unseen", 0, "m", "", False, by=("dee",))]}) == [
        0.5,
        0.5,
        0.0,
        0.0,
    ]


class Troubled(Echo):
    """Fails so often with this reason before it answers."""

    def __init__(self, reason: Reason, times: int) -> None:
        super().__init__()
        self.reason, self.times = reason, times

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        self.times -= 1
        if self.times >= 0:
            raise TryAgain("The server is away.", reason=self.reason)
        return super().reply(turns, schema)


def troubled(reason: Reason, times: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Answered]:
    monkeypatch.setattr(arms, "PAUSE", 0.0)
    (folder / "count.toml").write_text(AGENT)
    saved: list[Answered] = []
    Bare("alone", [Troubled(reason, times)], WordEncoder(), tasks("red 1", "blue 2"), folder).run([], 1, saved.append)
    return saved


def test_a_server_that_is_away_for_a_while_costs_no_right_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [one.right for one in troubled("server error", TRIES - 1, tmp_path, monkeypatch)] == [True, True]


def test_a_server_that_stays_away_ends_the_arm_and_nothing_is_kept_as_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TryAgain, match=r"The server is away\."):
        troubled("model away", TRIES, tmp_path, monkeypatch)


def test_a_model_that_has_no_answer_is_wrong_and_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = troubled("cut off", 1, tmp_path, monkeypatch)

    assert [one.right for one in found] == [False, True]
    assert of_arm({1: found})["none"] == 1


def test_what_was_answered_is_not_asked_again_and_still_shown(tmp_path: Path) -> None:
    some = tasks(*STREAM, unseen=["red lamp 6"])
    whole = run("own", some, tmp_path)

    rest = run("own", some, tmp_path, done=whole[:3])

    assert [one._replace(seconds=0) for one in rest] == [one._replace(seconds=0) for one in whole[3:]]


def test_the_relay_passes_calls_on_to_their_servers_counts_them_and_knows_what_was_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def says(what: str) -> Any:
        return lambda _: Answer(text=what)

    with (
        serving(says("one")) as first,
        serving(says("two")) as second,
        relaying({"a": first.url, "b": second.url}) as relay,
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", relay.url)
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        turns = (
            Turn(role="user", content="shoe"),
            Turn(role="assistant", content="red"),
            Turn(role="user", content="?"),
        )
        said = [open_chat(f"openai:{name}", timeout=20, connections=1).reply(turns).text for name in "ab"]

    assert said == ["one", "two"]
    assert (relay.spent["calls"], relay.spent["other calls"]) == (2, 0)
    assert relay.spent["tokens"] > 0
    relay.assert_sent("?", ["red"])
    with pytest.raises(AssertionError, match="'\\?' was sent without 'blue'"):
        relay.assert_sent("?", ["red", "blue"])


def answered(phase: Any, right: str) -> list[Answered]:
    return [Answered(phase, place, "m", "", letter == "r", ("x",)) for place, letter in enumerate(right)]


def alike(forms: Sequence[str | None], kind: str | None = None) -> dict[int, TaskSet]:
    """Two orders of the same tasks, unseen and in the stream."""
    some = [Task(str(at), kind, "", form) for at, form in enumerate(forms)]
    return dict.fromkeys((1, 2), TaskSet("count", some, some, [], lambda *_: True))


def test_a_difference_is_paired_by_task_over_its_orders() -> None:
    one = {1: answered("unseen", "rrrr..rr...."), 2: answered("unseen", "rrrr..rr....")}
    other = {1: answered("unseen", "....rr......"), 2: answered("unseen", "....rrrr....")}
    sets = alike([None] * 12)

    found = difference(one, other, "unseen", sets)

    assert found["difference"] == pytest.approx((4 - 2 + 1) / 12, abs=1e-4)
    assert (found["won"], found["lost"]) == (10, 4)
    assert found["low"] < found["difference"] < found["high"]
    assert difference(one, {3: other[1]}, "unseen", sets)["difference"] is None


def test_tasks_of_a_form_stay_together_and_those_of_a_kind_do_not() -> None:
    one, other = {1: answered("unseen", "rrrr...." * 6)}, {1: answered("unseen", "." * 48)}
    forms = [str(at // 4) for at in range(48)]

    apart, together, of_kinds, few = (
        difference(one, other, "unseen", alike(forms, kind))
        for forms, kind in (([None] * 48, None), (forms, None), (forms, "family"), (forms[:4] * 12, None))
    )

    # 25 won and one lost of 50 are ± 1.96 · √((.52 − .48²) / 50) about .48.
    assert (apart["low"], apart["high"]) == pytest.approx((0.3309, 0.6291), abs=2e-4)
    assert of_kinds == apart
    assert together["high"] - together["low"] > 1.7 * (apart["high"] - apart["low"])
    assert (few["difference"], few["low"]) == (0.5, None)


def test_every_two_arms_that_were_asked_for_are_compared() -> None:
    some = {1: answered("stream", "rr..") + answered("unseen", "r...")}
    arms = dict.fromkeys(("own", "possible", "alone"), some)

    rows = _figures(arms, {}, alike([None] * 4))

    assert [name for name in rows if "−" in name] == [
        "own − alone, unseen", "own − alone, stream", "possible − alone, unseen", "possible − own, unseen"
    ]  # fmt: skip


def test_without_a_loss_an_interval_reaches_below_nothing_where_little_was_won() -> None:
    won = {1: answered("unseen", "rrr" + "." * 57)}

    found = difference(won, {1: answered("unseen", "." * 60)}, "unseen", alike([None] * 60))

    assert (found["won"], found["lost"], found["difference"]) == (3, 0, 0.05)
    assert found["low"] < 0


def test_an_arm_is_told_by_the_ends_of_its_stream_and_what_is_unseen() -> None:
    found = of_arm({1: [*answered("stream", "." * 100 + "r" * 100), *answered("unseen", "rr..")]})

    assert {name: found[name] for name in ("first 100", "last 100", "stream", "unseen", "shown", "tasks")} == {
        "first 100": 0, "last 100": 1, "stream": 0.5, "unseen": 0.5, "shown": 1, "tasks": 204
    }  # fmt: skip


def test_the_library_comes_in_an_order_of_its_own_and_every_right_answer_is_right(tmp_path: Path) -> None:
    first, second = (database_tasks(tmp_path / str(order), 50, 20, order) for order in (1, 2))

    assert first.stream != second.stream
    assert first.unseen == second.unseen
    assert all(first.check(one.prompt, one.answer) for one in (*first.stream, *first.unseen))
    assert not first.check(first.stream[0].prompt, "SELECT 1")
    texts = {one.prompt for one in first.stream}
    assert texts.isdisjoint(one.prompt for one in (*first.unseen, *first.examples))
    assert json.loads((tmp_path / "1" / "answers.jsonl").read_text().splitlines()[0])["answer"]


def test_fresh_questions_of_the_library_are_none_by_which_a_default_was_settled(tmp_path: Path) -> None:
    fresh = database_tasks(tmp_path, 280, 120, 4, fresh=True)
    settled = [database_tasks(tmp_path, 300 if order == 1 else 240, 60, order) for order in (1, 2, 3)]

    known = {one.prompt for each in settled for one in (*each.stream, *each.unseen)}
    assert (len(fresh.stream), len(fresh.unseen)) == (280, 120)
    assert known.isdisjoint(one.prompt for one in (*fresh.stream, *fresh.unseen))


def test_of_a_file_only_questions_come_whose_right_query_gives_rows(tmp_path: Path) -> None:
    def entry(text: str, sql: str) -> dict[str, Any]:
        sentence = {"text": text, "question-split": "train", "variables": {}}
        return {"sql": [sql], "variables": [], "sentences": [sentence]}

    (tmp_path / "towns.sql").write_text("CREATE TABLE town (name TEXT);\nINSERT INTO town VALUES ('ulm');\n")
    entries = [
        entry("which towns are there", "SELECT name FROM town"),
        entry("which town is called Ulm", "SELECT name FROM town WHERE name = 'Ulm'"),
        entry("which rivers are there", "SELECT name FROM river"),
    ]
    (tmp_path / "towns.json").write_text(json.dumps(entries))

    found, left_out = questions_of(tmp_path / "towns.json", tmp_path / "towns.sql")

    assert left_out == 2
    assert [one.text for one in found.every] == ["which towns are there"]
    assert database_tasks(tmp_path / "agents", 10, 0, 1, found).check("which towns are there", "SELECT name FROM town")
