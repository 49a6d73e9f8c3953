from __future__ import annotations

from memshare_agents.prompt import build_prompt
from memshare_broker.wire.messages import AgentTask, Turn
from memshare_memory.memory import Memory
from tests.support.memories import remembered

TASK = AgentTask(prompt="A limerick about a lamp").turns


def memory(prompt: str | None, answer: str) -> Memory:
    return remembered(prompt, answer=answer)[0]


def lines(turns: list[Turn]) -> list[str]:
    return [f"{turn.role}: {turn.content}" for turn in turns]


def test_without_memories_there_are_the_instructions_and_the_task() -> None:
    assert lines(build_prompt("Be short.", [], TASK)) == ["system: Be short.", "user: A limerick about a lamp"]


def test_the_best_memory_comes_last_next_to_the_task() -> None:
    best_first = [memory("best", "B"), memory("good", "G"), memory("fair", "F")]

    prompt = build_prompt("Be short.", best_first, TASK)

    assert lines(prompt) == [
        "system: Be short.",
        "user: fair",
        "assistant: F",
        "user: good",
        "assistant: G",
        "user: best",
        "assistant: B",
        "user: A limerick about a lamp",
    ]


def test_a_statement_goes_into_the_system_message_and_is_no_turn() -> None:
    best_first = [memory(None, "Best."), memory("good", "G"), memory(None, "Fair.")]

    prompt = build_prompt("Be short.", best_first, TASK)

    assert lines(prompt) == [
        "system: Be short.\n\nWhat is known: Fair.\n\nWhat is known: Best.",
        "user: good",
        "assistant: G",
        "user: A limerick about a lamp",
    ]


def test_the_turns_of_a_conversation_come_after_the_memories() -> None:
    task = AgentTask.model_validate(
        {
            "messages": [
                {"role": "user", "content": "A limerick"},
                {"role": "assistant", "content": "About what?"},
                {"role": "user", "content": "A lamp"},
            ]
        }
    )

    prompt = build_prompt("Be short.", [memory("best", "B")], task.turns)

    assert lines(prompt) == [
        "system: Be short.",
        "user: best",
        "assistant: B",
        "user: A limerick",
        "assistant: About what?",
        "user: A lamp",
    ]
