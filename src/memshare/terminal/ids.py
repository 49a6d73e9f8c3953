"""Ids as people type them: whole, or so much of the beginning that it means one alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from rich.text import Text

from memshare.client.client import Client
from memshare.client.pools import pools_known
from memshare.terminal.console import console, errors, one_line
from memshare_broker.connection import reaching
from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import Quoted
from memshare_memory.curate.requests import TrashRequest
from memshare_memory.door.messages import JudgedMemory
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where

_WIDE = 120  # columns from which prompt and answer stand side by side


def as_json(judged: JudgedMemory) -> dict[str, Any]:
    """A memory with its `credibility` and its `conflicts` beside its own fields."""
    found = judged.model_dump(mode="json")
    memory: dict[str, Any] = found.pop("memory")
    return memory | found


def prompt_and_answer(memory: Memory) -> tuple[Text, ...]:
    """The prompt and the answer of a memory, in the columns of `text_columns`."""
    prompt, answer = one_line(memory.prompt or "–"), one_line(memory.answer)
    if len(text_columns()) == 2:
        return prompt, answer
    both = Text("\n").join((prompt, answer))
    both.no_wrap, both.overflow = True, "ellipsis"
    return (both,)


def text_columns() -> tuple[str, ...]:
    """The columns for prompt and answer: two, or one with the answer below the prompt where the terminal is narrow."""
    return ("prompt", "answer") if console.width >= _WIDE else ("prompt, answer",)


def counted(number: int, one: str = "memory", more: str = "") -> str:
    """How many memories, or other things, in words; `more` than one are called as English has it."""
    return f"1 {one}" if number == 1 else f"{number:,} {more or re.sub(r'(?<=[^aeiou])y$', 'ie', one) + 's'}"


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


def whose_answer(quoted: Quoted, notes: Iterable[str] = ()) -> str:
    """Sentences that name the memory and its submitter, and say what was noted of the answer: who called it wrong."""
    whose = (
        f"No model is set. This is the answer of the nearest memory, word for word: {short_id(quoted.id)} by "
        f"{quoted.submitter} (similarity {quoted.similarity:.2f})."
    )
    return shorten_ids(" ".join((whose, *notes)))


SHORTEST = 8  # digits of an id
_DIGITS = 32
_WHOLE = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_BEGINNING = re.compile(rf"[0-9a-f-]{{{SHORTEST},35}}")
_MOST = 5  # ids that begin with what was typed


def short_id(one: UUID | str) -> str:
    """An id as tables show it; commands take it. One of another form than ours is not cut."""
    whole = str(one)
    return whole[:SHORTEST] if _WHOLE.fullmatch(whole) else whole


def shorten_ids(text: str) -> str:
    """A text with the ids in it as tables show them."""
    return _WHOLE.sub(lambda found: found[0][:SHORTEST], text)


def is_id(typed: str) -> bool:
    """True if a text is an id, or the beginning of one, and no words."""
    return bool(_BEGINNING.fullmatch(typed) or _WHOLE.fullmatch(typed))


def find_memory(client: Client, typed: str) -> UUID:
    """The id of a memory of the pool; a whole one is not looked up. Raises `BadInput` for what means none, or many."""
    digits = _digits(typed)
    if len(digits) == _DIGITS:
        return UUID(digits)
    first = UUID(digits.ljust(_DIGITS, "0"))
    page = client.memories.page(Where(), limit=_MOST, after=first)
    found = [memory.id for memory in page.memories if memory.id.hex.startswith(digits)]
    return _only_memory(typed, found, "No memory has", "list` shows them, `memshare memories trash` what was forgotten")


def find_in_trash(client: Client, typed: str) -> UUID:
    """The id of a memory in the trash, in the same way."""
    digits = _digits(typed)
    if len(digits) == _DIGITS:
        return UUID(digits)
    hyphens = sum(len(digits) > place for place in (8, 12, 16, 20))
    prefix = str(UUID(digits.ljust(_DIGITS, "0")))[: len(digits) + hyphens]
    found = [one.memory.id for one in client.memories.trash(TrashRequest(prefix=prefix, limit=_MOST)).forgotten]
    return _only_memory(typed, found, "No memory in the trash has", "trash` shows them")


def _digits(typed: str) -> str:
    digits = typed.lower().strip("… ").replace("-", "")
    if not SHORTEST <= len(digits) <= _DIGITS or set(digits) - set("0123456789abcdef"):
        raise BadInput(
            f"{typed!r} is no id of a memory: expected one such as 1c6fa3b2-9d10-5e57-8f6e-0d2b7a9c4e11, or its first"
            f" {SHORTEST} digits or more."
        )
    return digits


def _only_memory(typed: str, found: Sequence[UUID], nothing: str, listing: str) -> UUID:
    if not found:
        raise BadInput(f"{nothing} an id that begins with {typed!r}. `memshare memories {listing}.")
    if len(found) > 1:
        raise BadInput(f"{typed!r} may mean several memories, give more of it: {', '.join(map(str, found))}.")
    return found[0]


def find_task(client: Client, typed: str) -> str:
    """The id of a task, also by that of its dead letter. What means neither stays as it is; raises `BadInput` where it
    may mean several."""
    beginning = _beginning(typed)
    with reaching(client.settings.redis):
        found = _only_task(typed, _tasks(client, typed, beginning)) if beginning else typed
        if client.ledger.submitted(found) is None and (letter := find_letter(client, typed)) in client.dead_letters:
            return client.dead_letters.get(letter).entry.journey
    return found


def find_letter(client: Client, typed: str) -> str:
    """The id of a dead letter, in the same way."""
    beginning = _beginning(typed)
    if not beginning:
        return typed
    with reaching(client.settings.redis):
        if typed in client.dead_letters:
            return typed
        return _only_task(typed, [one for one in client.dead_letters.ids() if one.startswith(beginning)][:_MOST])


def _tasks(client: Client, typed: str, beginning: str) -> list[str]:
    """The id as it was typed where a task has it, or else those that begin with it."""
    return [typed] if client.ledger.submitted(typed) is not None else client.ledger.journeys(beginning, _MOST)


def _beginning(typed: str) -> str | None:
    beginning = typed.lower().strip("… ")
    return beginning if _BEGINNING.fullmatch(beginning) else None


def _only_task(typed: str, found: Sequence[str]) -> str:
    if len(found) > 1:
        raise BadInput(f"{typed!r} may mean several ids, give more of it: {', '.join(sorted(found))}.")
    return found[0] if found else typed
