"""Conversations as others write them become pairs; what is more than text is refused with the true reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memshare.files.json_lines import NoExample, as_pair
from memshare.files.pairs import NO_EXAMPLE, read_pairs
from memshare_broker.errors import BadInput

USER = {"role": "user", "content": "A lamp"}
ANSWER = {"role": "assistant", "content": "There was"}
PAIR = {"prompt": "A lamp", "answer": "There was"}
TOOL_CALL = {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f"}}]}


def text(*parts: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": part} for part in parts]


def said(*turns: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(turns)} | more


def human(*texts: str) -> list[dict[str, str]]:
    return [{"from": ("human", "gpt")[at % 2], "value": one} for at, one in enumerate(texts)]


@pytest.mark.parametrize(
    "line",
    [
        said(USER, ANSWER),
        said(USER, ANSWER | {"weight": 1}),
        said(USER | {"content": text("A ", "lamp")}, ANSWER | {"content": text("There", " was")}),
        said({"role": "system", "content": "Rhyme."}, USER, ANSWER),
        said({"role": "developer", "content": text("Rhyme.")}, USER, ANSWER),
        said(USER, {"role": "system", "content": "Rhyme."}, ANSWER, memory_id="1c6fa3b2"),
        said(USER | {"name": "ada"}, ANSWER | {"tool_calls": None, "function_call": None, "refusal": None}, tools=None),
        said(USER, ANSWER | {"tool_calls": []}, tools=[]),
        {"conversations": human("A lamp", "There was"), "memory_id": "1c6fa3b2"},
        {"conversations": [{"from": "system", "value": "Rhyme."}, *human("A lamp", "There was")]},
        {"conversations": [{"from": "user", "value": "A lamp"}, {"from": "assistant", "value": "There was"}]},
    ],
)
def test_a_conversation_in_any_of_these_forms_is_the_same_pair(line: dict[str, Any]) -> None:
    assert as_pair(line) == PAIR


def test_of_preferences_the_chosen_answer_is_taken_with_its_score() -> None:
    line = {"prompt": [USER], "chosen": [ANSWER], "rejected": [{"role": "assistant", "content": "No"}]}
    beside = {"rejected_score": 4.0, "rejected_prompt": "a lamp", "rejected_task_id": "t", "memory_id": "1c6f"}

    assert as_pair(line | beside | {"chosen_score": 90.0, "pool": "poem"}) == PAIR | {"score": 90.0, "pool": "poem"}


def test_several_turns_are_one_prompt_and_what_was_marked_as_no_example_is_not_in_it() -> None:
    turns = (USER, ANSWER, {"role": "user", "content": "A red one"}, {"role": "assistant", "content": "Red"})
    poor = (USER, ANSWER | {"weight": 0}, *turns[2:])

    assert as_pair(said(*turns))["prompt"] == "User: A lamp\nAssistant: There was\nUser: A red one"
    assert as_pair(said(*poor)) == {"prompt": "User: A lamp\nUser: A red one", "answer": "Red"}
    assert as_pair(said(USER, ANSWER | {"weight": 0}, ANSWER)) == PAIR


@pytest.mark.parametrize("weight", [0, 0.0])
def test_an_answer_with_the_weight_0_is_no_example(weight: float) -> None:
    with pytest.raises(NoExample, match="weight 0"):
        as_pair(said(USER, ANSWER, {"role": "user", "content": "And?"}, ANSWER | {"weight": weight}))


TOOLS, PARTS = "tool calls are not taken", "no images, audio or files"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            said(USER, TOOL_CALL, {"role": "tool", "tool_call_id": "1", "content": "3"}, ANSWER),
            TOOLS + ".*'tool_calls'",
        ),
        (said(USER, {"role": "tool", "content": "3"}, ANSWER), TOOLS + ".*'tool'"),
        (said(USER, {"role": "function", "name": "f", "content": "3"}, ANSWER), TOOLS + ".*'function'"),
        (said(USER, ANSWER | {"function_call": {"name": "f"}}), TOOLS + ".*'function_call'"),
        (said(USER, ANSWER, tools=[{"type": "function"}]), TOOLS + ".*'tools'"),
        (said(USER, ANSWER, parallel_tool_calls=False), TOOLS + ".*'parallel_tool_calls'"),
        (said(USER, ANSWER, functions=[{"name": "f"}]), TOOLS + ".*'functions'"),
        ({"conversations": human("A lamp", "There was"), "tools": "[{}]"}, TOOLS + ".*'tools'"),
        (said(USER | {"content": [{"type": "image_url", "image_url": {}}]}, ANSWER), f"'image_url'.*{PARTS}"),
        (said(USER | {"content": [*text("A"), {"type": "input_audio"}]}, ANSWER), f"'input_audio'.*{PARTS}"),
        (said(USER, ANSWER | {"content": [{"type": "refusal", "refusal": "No"}]}), f"'refusal'.*{PARTS}"),
        (said(USER, ANSWER | {"content": ["There was"]}), "type 'There was'"),
        (said(USER, {"role": "assistant", "audio": {"id": "a"}}), "a turn has 'audio'; expected text alone"),
        (said(USER, ANSWER | {"content": None}), "no text as its 'content'"),
        (said(USER, ANSWER | {"content": {"text": "x"}}), "no text as its 'content'"),
        (said(USER, ANSWER | {"weight": 0.5}), "the 'weight' 0.5; expected 0 or 1"),
        (said(USER | {"weight": 1}, ANSWER), "a turn has 'weight'.*only with the assistant's"),
        (said(USER, ANSWER | {"colour": "red"}), "a turn has 'colour'"),
        (said(USER, {"role": "critic", "content": "No"}, ANSWER), "role 'critic'; expected user, assistant"),
        (said({"content": "A lamp"}, ANSWER), "role None"),
        (said(USER), "ends with the assistant's answer"),
        (said(USER, ANSWER, USER), "ends with the assistant's answer"),
        (said(), "ends with the assistant's answer"),
        (said("A lamp", ANSWER), "a list of turns"),
        ({"conversations": "A lamp"}, "a list of turns"),
        ({"chosen": [ANSWER]}, "a list of turns"),
        ({"chosen": "There was", "prompt": [USER]}, "a list of turns"),
        (said(ANSWER), "must end with a turn of role 'user'"),
        (said({"role": "system", "content": "Rhyme."}, ANSWER), "must end with a turn of role 'user'"),
        (said(USER | {"content": "\u200b"}, ANSWER), "the prompt is empty"),
        (said(USER, ANSWER | {"content": "\u200b"}), "answer: it is empty"),
        (said(USER, ANSWER, answer="x"), "not both"),
        (said(USER, ANSWER, colour="red"), "'colour' is none of its fields"),
    ],
)
def test_what_is_no_pair_of_texts_is_refused_with_the_true_reason(
    tmp_path: Path, line: dict[str, Any], why: str
) -> None:
    file = tmp_path / "train.jsonl"
    file.write_text(json.dumps(line | {"pool": "poem"}))

    with pytest.raises(BadInput, match=rf"train\.jsonl:1: .*{why}"):
        read_pairs(file, None, {})


def test_lines_that_are_no_examples_are_counted_and_the_others_brought_in(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    lines = [said(USER, ANSWER | {"weight": 0}), said(USER, ANSWER), "", said(USER, ANSWER | {"weight": 0})]
    file.write_text("\n".join(json.dumps(line) if line else "" for line in lines))

    found = read_pairs(file, "poem", {})

    assert (found.left_out, [one.answer for one in found.pairs]) == ({NO_EXAMPLE: ["line 1", "line 4"]}, ["There was"])
