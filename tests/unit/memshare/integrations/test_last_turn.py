"""The last turn, in the messages of each library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic_ai.messages import (
    ImageUrl,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from memshare.integrations.last_turn import SHAPES, Shape, last_turn, whole_task

Line = tuple[str, str]
"""Who says something, and what: a `call` is a text with a tool call, a `picture` is a text with one."""

CALL = {"name": "look", "args": {}, "id": "1"}
PICTURE = "https://example.org/a.png"


def langchain(line: Line) -> list[Any]:
    by, text = line
    return [
        {
            "system": lambda: SystemMessage(text),
            "user": lambda: HumanMessage(text),
            "picture": lambda: HumanMessage(
                [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": PICTURE}}]
            ),
            "model": lambda: AIMessage([{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": text}]),
            "call": lambda: AIMessage(text, tool_calls=[CALL]),
            "result": lambda: ToolMessage(text, tool_call_id="1"),
        }[by]()
    ]


def responses(line: Line) -> list[Any]:
    by, text = line
    call = {"type": "function_call", "name": "look", "arguments": "{}", "call_id": "1"}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    parts = [{"type": "input_text", "text": text}, {"type": "input_image", "image_url": PICTURE}]
    searched = {"type": "web_search_call", "id": "2", "status": "completed"}
    found: dict[str, list[Any]] = {
        "system": [{"role": "developer", "content": text}],
        "user": [{"role": "user", "content": text}],
        "picture": [{"role": "user", "content": parts}],
        "model": [{"type": "reasoning", "summary": []}, searched, said],
        "call": [{"type": "reasoning", "summary": []}, said, call],
        "result": [{"type": "function_call_output", "call_id": "1", "output": text}],
    }
    return found[by]


def pydantic_ai(line: Line) -> list[Any]:
    by, text = line
    found: dict[str, Any] = {
        "system": ModelRequest([SystemPromptPart(text)]),
        "user": ModelRequest([SystemPromptPart("Be brief."), UserPromptPart(text)]),
        "picture": ModelRequest([UserPromptPart([text, ImageUrl(PICTURE)])]),
        "model": ModelResponse([ThinkingPart("Hm."), TextPart(text)]),
        "call": ModelResponse([TextPart(text), ToolCallPart("look", {})]),
        "result": ModelRequest([ToolReturnPart("look", text, tool_call_id="1")]),
    }
    return [found[by]]


WRITE = {"langchain": langchain, "responses": responses, "pydantic-ai": pydantic_ai}


def written(shape: Shape, lines: Sequence[Line]) -> list[Any]:
    return [message for line in lines for message in WRITE[shape](line)]


FRANCE = [("user", "What is the capital of France?"), ("model", "Paris.")]
PERU = [("user", "Of Peru?"), ("model", "Lima.")]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("lines", "turns", "answer"),
    [
        (FRANCE, [("user", "What is the capital of France?")], "Paris."),
        ([("system", "Be brief."), *FRANCE], [("user", "What is the capital of France?")], "Paris."),
        ([*FRANCE, ("user", "Its size?")], [*FRANCE, ("user", "Its size?")], None),
        ([*FRANCE, *PERU], [*FRANCE, ("user", "Of Peru?")], "Lima."),
        ([("user", "Chile?"), ("call", "Let me look.")], [("user", "Chile?")], None),
        ([("user", "Chile?"), ("call", "## Summary"), ("result", "ok"), ("model", "")], [("user", "Chile?")], None),
        ([("user", "Chile?"), ("call", "Hm."), ("result", "S."), ("model", "Lima.")], [("user", "Chile?")], "Lima."),
        ([("user", "Chile?"), ("model", "Santiago."), ("model", " \n")], [("user", "Chile?")], "Santiago."),
        ([("user", "a"), ("user", "b"), ("model", "c")], [("user", "a"), ("user", "b")], "c"),
        (
            [("user", "a"), ("call", "Hm."), ("result", "x"), ("model", "A."), ("user", "b")],
            [("user", "a"), ("model", "A."), ("user", "b")],
            None,
        ),
        ([("user", "a"), ("call", "Hm."), ("result", "x"), ("user", "b")], [("user", "a"), ("user", "b")], None),
        ([("user", "a"), ("model", "<think>\nHm.\n</think>\n\nA.")], [("user", "a")], "A."),
        ([("user", "a"), ("model", "A."), ("model", "<think>Done.</think>\u200b")], [("user", "a")], "A."),
        ([("user", "a\ud83c"), ("model", "\ud83c\udf78 caf\ud83c")], [("user", "a\ufffd")], "🍸 caf\ufffd"),
        ([("model", "Hello."), ("user", "a")], [("model", "Hello."), ("user", "a")], None),
    ],
)  # fmt: skip
def test_each_library_s_messages_say_what_is_asked_and_answered(
    shape: Shape, lines: list[Line], turns: list[Line], answer: str | None
) -> None:
    found = last_turn(written(shape, lines), shape)

    assert found is not None
    roles = {"user": "user", "assistant": "model"}
    assert [(roles[role], text) for role, text in found.turns] == turns
    assert found.answer == answer
    assert found.whole


@pytest.mark.parametrize("shape", SHAPES)
def test_a_text_with_a_picture_is_not_all_of_the_conversation(shape: Shape) -> None:
    for lines in (
        [("picture", "What is this?")],
        [("picture", "What is this?"), ("model", "A cat."), ("user", "Why?")],
    ):
        found = last_turn(written(shape, lines), shape)
        assert found is not None
        assert not found.whole
        assert found.turns[0][1] == "What is this?"


@pytest.mark.parametrize("kind", ["compaction", "item_reference"])
def test_a_history_that_the_server_alone_can_read_is_not_all_there(kind: str) -> None:
    found = last_turn([{"type": kind, "id": "1"}, {"role": "user", "content": "Why?"}], "responses")

    assert found is not None
    assert not found.whole


@pytest.mark.parametrize("shape", SHAPES)
def test_where_the_user_said_nothing_there_is_no_turn(shape: Shape) -> None:
    assert last_turn(written(shape, [("system", "Be brief."), ("model", "Hello.")]), shape) is None
    assert last_turn([], shape) is None


@pytest.mark.parametrize("shape", SHAPES)
@given(
    lines=st.lists(
        st.tuples(
            st.sampled_from(["system", "user", "picture", "model", "call", "result"]),
            st.text(alphabet="ab \n", max_size=3),
        ),
        max_size=9,
    )
)
@settings(deadline=None)
def test_memories_stand_before_the_last_message_of_the_user_and_answers_behind_it(
    shape: Shape, lines: list[Line]
) -> None:
    asked = [at for at, (by, _) in enumerate(lines) if by in ("user", "picture")]
    messages = written(shape, lines)

    found = last_turn(messages, shape)

    assert (found is None) == (not asked)
    if found is None:
        return
    before = len(written(shape, lines[: asked[-1]]))
    assert found.with_memories(messages, ["memory"]) == [*messages[:before], "memory", *messages[before:]]
    answers = [text for by, text in lines[asked[-1] :] if by == "model" and text.strip()]
    if shape == "responses" and any(by == "call" for by, _ in lines[asked[-1] :]):
        assert found.answer in [None, *answers]  # a call in the same response: its texts are none
    else:
        assert found.answer == (answers[-1] if answers else None)
    assert all(text.strip() for _, text in found.turns)
    assert any(by == "picture" for by, _ in lines[: asked[-1] + 1]) != found.whole


@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_that_names_the_last_turn_alone_means_the_conversation(shape: Shape) -> None:
    messages = written(shape, [*FRANCE, ("user", "And its  population?"), ("call", "")])
    whole = "User: What is the capital of France?\nAssistant: Paris.\nUser: And its  population?"

    assert whole_task("and its population? ", messages, shape) == whole
    assert whole_task("Population of Paris?", messages, shape) == "Population of Paris?"
    assert whole_task("Chile?", written(shape, [("user", "Chile?")]), shape) == "Chile?"
    assert whole_task("Chile?", [], shape) == "Chile?"
