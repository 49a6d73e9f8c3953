from __future__ import annotations

import json
from pathlib import Path

import pytest

from memshare.evaluation.data import read_items, same_text, split
from memshare_broker.errors import BadInput
from memshare_broker.presence import AgentCard

AGENTS = {"logic": AgentCard(name="logic", kinds=("riddle", "pun"), pool="logic", model="offline")}


def line(number: int, **more: object) -> dict[str, object]:
    return {"agent": "logic", "kind": "riddle", "prompt": f"Question {number}?", "answer": f"Answer {number}"} | more


def written(folder: Path, *lines: object) -> Path:
    file = folder / "riddles.jsonl"
    file.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines), encoding="utf-8")
    return file


def test_a_question_or_an_answer_that_was_there_is_dropped_and_reported(tmp_path: Path) -> None:
    file = written(tmp_path, line(1), line(2, prompt="QUESTION  1?"), line(3, answer="answer 1"), line(4, source="x"))

    items, [report] = read_items([file], AGENTS)

    assert [item.prompt for item in items] == ["Question 1?", "Question 4?"]
    assert (report.items, report.dropped) == (2, 2)


def test_a_line_may_be_a_conversation_whose_last_turn_is_the_answer_and_name_no_agent(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "Question 7?"}, {"role": "assistant", "content": "Answer 7"}]
    file = written(tmp_path, line(1, kind="pun"), {"messages": turns, "memory_id": "7"})

    items, _ = read_items([file], AGENTS, "logic", "riddle")

    assert [(one.agent, one.kind, one.prompt, one.answer) for one in items] == [
        ("logic", "pun", "Question 1?", "Answer 1"),
        ("logic", "riddle", "Question 7?", "Answer 7"),
    ]
    with pytest.raises(BadInput, match=r"riddles\.jsonl:2: .*agent"):
        read_items([file], AGENTS)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What has keys, but no locks?", "what has keys but no locks"),
        ("It’s a piano!", "It's a piano…"),
        ("床前明月光，疑是地上霜。", "床前明月光 疑是地上霜"),
    ],
)
def test_texts_that_differ_in_punctuation_alone_are_the_same(one: str, other: str, tmp_path: Path) -> None:
    file = written(tmp_path, line(1, answer=one), line(2, answer=other), line(3, prompt=one), line(4, prompt=other))

    items, [report] = read_items([file], AGENTS)

    assert (len(items), report.dropped) == (2, 2)


@pytest.mark.parametrize(("one", "other"), [("3 + 4", "3 + 5"), ("?", "!"), ("naïve", "naive"), ("a b", "ab")])
def test_texts_that_differ_in_letters_or_are_nothing_but_punctuation_are_not_the_same(one: str, other: str) -> None:
    assert same_text(one) != same_text(other)


def test_wrong_lines_are_named_and_nothing_is_read(tmp_path: Path) -> None:
    file = written(tmp_path, line(1), "{", line(2, agent="cook"), line(3, kind="haiku"), line(4, answer=" "))

    with pytest.raises(BadInput) as error:
        read_items([file], AGENTS)

    assert [f"{file}:{number}:" in str(error.value) for number in (1, 2, 3, 4, 5)] == [False, True, True, True, True]


def test_the_parts_of_a_split_share_nothing_and_are_drawn_by_the_seed(tmp_path: Path) -> None:
    items, _ = read_items([written(tmp_path, *(line(number) for number in range(50)))], AGENTS)

    first, again, other = split(items, 7), split(items, 7), split(items, 8)

    assert [len(part) for part in first] == [10, 20, 20]
    assert len({item.id for item in first.all}) == 50
    assert first == again != other


def test_no_more_items_of_a_kind_are_used_than_wanted(tmp_path: Path) -> None:
    lines = [line(number) for number in range(30)] + [line(number, kind="pun") for number in range(30, 60)]
    items, _ = read_items([written(tmp_path, *lines)], AGENTS)

    few = split(items, 7, most=10)

    assert sorted(item.label for item in few.all) == ["pun"] * 10 + ["riddle"] * 10


def test_too_few_items_are_refused(tmp_path: Path) -> None:
    items, _ = read_items([written(tmp_path, line(1), line(2))], AGENTS)

    with pytest.raises(BadInput, match="too few"):
        split(items, 7)
