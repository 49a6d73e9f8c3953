"""How memories are counted and shown by commands, and which pools there are."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from memshare.client.client import Client
from memshare.client.pools import pools_known
from memshare.terminal.console import console, errors, one_line
from memshare_broker.errors import BadInput
from memshare_memory.door.messages import JudgedMemory
from memshare_memory.memory import Memory

_WIDE = 120  # columns from which prompt and answer stand side by side


def as_json(judged: JudgedMemory) -> dict[str, Any]:
    """A memory with its `credibility` and its `conflicts` beside its own fields."""
    found = judged.model_dump(mode="json")
    memory: dict[str, Any] = found.pop("memory")
    return memory | found


def prompt_and_answer(memory: Memory) -> tuple[Text, ...]:
    """What a memory says, in the columns of `text_columns`."""
    prompt, answer = one_line(memory.prompt or "–"), one_line(memory.answer)
    if len(text_columns()) == 2:
        return prompt, answer
    both = Text("\n").join((prompt, answer))
    both.no_wrap, both.overflow = True, "ellipsis"
    return (both,)


def text_columns() -> tuple[str, ...]:
    """The columns for prompt and answer: two, or one with the answer below the prompt where the terminal is narrow."""
    return ("prompt", "answer") if console.width >= _WIDE else ("prompt, answer",)


def counted(number: int, one: str = "memory", more: str = "memories") -> str:
    """How many memories, or other things, in words."""
    return f"1 {one}" if number == 1 else f"{number:,} {more}"


def concept_names(memory: Memory) -> list[str]:
    """The names of a memory's concepts, each once, also one that stands on two levels."""
    return list(dict.fromkeys(name for names in memory.concepts.values() for name in names))


def say_unreadable(client: Client) -> None:
    """Say on stderr that memories were left out, where some cannot be read."""
    unreadable = client.memories.stats().unreadable
    if unreadable:
        line = f"{counted(unreadable)} cannot be read, and left out: `memshare memories check` shows more."
        errors.print(line, style="yellow")


def credibility_of(judged: JudgedMemory) -> str:
    """The p of a memory as people see it."""
    return f"{judged.credibility.p:.2f}"


def require_pool(client: Client, pool: str | None) -> None:
    """Raises `BadInput` for a pool that no agent has and no memory is in; None names no pool, and is right."""
    if pool is not None and pool not in (known := pools_known(client)):
        raise BadInput(f"No pool is called {pool!r}. There are: {', '.join(sorted(known))}.")


def the_pool(client: Client, pool: str | None) -> str:
    """The pool that is meant. Raises `BadInput` for an unknown one, and where none is named and there are several."""
    require_pool(client, pool)
    if pool is not None:
        return pool
    there = sorted(client.memories.stats().by_pool)
    if len(there) != 1:
        several = (
            f"Say which pool, with --pool: {', '.join(there)}."
            if there
            else "No pool has memories yet: name one with --pool."
        )
        raise BadInput(several)
    return there[0]
