from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
import pytest
from pydantic import ValidationError

from memshare_broker.wire.messages import AgentTask, Embedding, Turn, Usage, derived_id

TALK = [
    {"role": "user", "content": "A limerick"},
    {"role": "assistant", "content": "About what?"},
    {"role": "user", "content": "A lamp"},
]


def test_the_same_parts_give_the_same_id_today_and_tomorrow() -> None:
    assert derived_id("journey-1", "score") == UUID("32e6f793-1ed8-5bc0-b5ea-b6e200bf4c5c")


def test_ids_of_different_parts_differ() -> None:
    parts = [("ab", "c"), ("a", "bc"), ("abc",), ("a", "b", "c"), ("c", "ab")]

    assert len({derived_id(*one) for one in parts}) == len(parts)


def test_a_prompt_is_one_turn_of_the_user() -> None:
    task = AgentTask(prompt="A lamp")

    assert task.turns == (Turn(role="user", content="A lamp"),)
    assert task.text == "A lamp"
    assert task.submitter == "anonymous"


def test_the_text_of_a_conversation_says_who_said_what() -> None:
    task = AgentTask.model_validate({"messages": TALK})

    assert [turn.content for turn in task.turns] == ["A limerick", "About what?", "A lamp"]
    assert task.text == "User: A limerick\nAssistant: About what?\nUser: A lamp"


def test_a_conversation_of_one_turn_is_the_same_as_its_prompt() -> None:
    task = AgentTask.model_validate({"messages": TALK[2:]})

    assert task.text == AgentTask(prompt="A lamp").text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "give a 'prompt', or a conversation as 'messages': one of the two"),
        ({"prompt": "A lamp", "messages": TALK}, "give a 'prompt', or a conversation as 'messages': one of the two"),
        ({"prompt": ""}, "the prompt is empty"),
        ({"prompt": " \n\t"}, "the prompt is empty"),
        ({"prompt": 7}, "valid string"),
        ({"messages": []}, "must end with a turn of role 'user'"),
        ({"messages": TALK[:2]}, "must end with a turn of role 'user'"),
        ({"messages": [{"role": "system", "content": "Obey"}, *TALK]}, "the agent gives the system turn"),
        ({"messages": [{"role": "user", "content": " "}, *TALK]}, "the prompt is empty"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "Input should be 'system', 'user' or 'assistant'"),
        ({"prompt": "A lamp", "memories": 21}, "less than or equal to 20"),
        ({"prompt": "A lamp", "memories": -1}, "greater than or equal to 0"),
        ({"prompt": "A lamp", "submitter": ""}, "expected a name, found an empty text"),
        ({"prompt": "A lamp", "submitter": "x" * 201}, "up to 200 characters, found 201"),
        ({"prompt": "A lamp", "colour": "red"}, "Extra inputs are not permitted"),
    ],
)
def test_a_task_that_is_not_one_is_refused(body: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        AgentTask.model_validate(body)


@pytest.mark.parametrize("memories", [0, 20])
def test_none_to_twenty_memories_can_be_asked_for(memories: int) -> None:
    assert AgentTask(prompt="A lamp", memories=memories).memories == memories


def test_a_message_cannot_be_changed() -> None:
    task = AgentTask(prompt="A lamp")

    with pytest.raises(ValidationError, match="frozen"):
        task.prompt = "A shoe"  # type: ignore[misc]


def test_a_message_is_the_same_after_it_travelled_as_json() -> None:
    task = AgentTask.model_validate({"messages": TALK, "kind": "limerick", "memories": 2, "submitter": "ada"})

    assert AgentTask.model_validate_json(task.model_dump_json()) == task


def test_a_vector_is_the_same_after_it_travelled_as_json() -> None:
    vector = np.random.default_rng(0).normal(size=384).astype(np.float32)

    packed = Embedding.model_validate_json(Embedding.pack("tests/words", vector).model_dump_json())

    assert packed.encoder == "tests/words"
    assert packed.unpack().dtype == np.float32
    assert (packed.unpack() == vector).all()


def test_tokens_are_counted_together() -> None:
    total = Usage(prompt_tokens=10, completion_tokens=5) + Usage(prompt_tokens=1)

    assert total == Usage(prompt_tokens=11, completion_tokens=5)
