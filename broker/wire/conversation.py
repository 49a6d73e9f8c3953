"""A conversation as one text, and what of that text is asked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from memshare.broker.errors import BadInput

FITS = 900  # characters of earlier turns and the last one together: about what a small encoder reads
EARLIER = 300  # characters of an earlier turn, so that no single one takes all the room

_TURN = re.compile(r"^(User|Assistant): ", re.MULTILINE)


def written(turns: Iterable[tuple[str, str]]) -> str:
    """Turns, each a role and what was said, as the text that is graded and remembered."""
    return "\n".join(f"{role.capitalize()}: {content}" for role, content in turns)


def as_pair(line: dict[str, Any]) -> dict[str, Any]:
    """A line with `messages`, whose last turn is the answer, as one with `prompt` and `answer`; any other as it is.

    Raises `BadInput` for messages that are no such conversation.
    """
    if "messages" not in line:
        return line
    if "prompt" in line or "answer" in line:
        raise BadInput("give 'messages', or 'prompt' and 'answer': not both")
    match line["messages"]:
        case [*earlier, {"role": "assistant", "content": str(answer), **rest}] if earlier and not rest:
            turns = [_turn(one) for one in earlier]
        case _:
            raise BadInput(
                "'messages' is a list of turns with 'role' and 'content', and ends with the assistant's answer"
            )
    if turns[-1][0] != "user":
        raise BadInput("the turn before the answer must be of role 'user': the task")
    prompt = turns[0][1] if len(turns) == 1 else written(turns)
    return {name: value for name, value in line.items() if name != "messages"} | {"prompt": prompt, "answer": answer}


def _turn(turn: object) -> tuple[str, str]:
    match turn:
        case {"role": "user" | "assistant" as role, "content": str(content), **rest} if not rest:
            return role, content
    raise BadInput(
        "a turn has a 'role', user or assistant, and a 'content' that is text; the agent gives the system turn"
    )


def turns_of(text: str) -> list[tuple[str, str]]:
    """The turns of a text that was `written`, each a role and what was said; any other text is one turn of the user."""
    starts = list(_TURN.finditer(text))
    if len(starts) < 2 or starts[0].start() != 0 or starts[-1][1] != "User":
        return [("user", text)]
    ends = [*(one.start() for one in starts[1:]), len(text)]
    return [(one[1].lower(), text[one.end() : end].strip()) for one, end in zip(starts, ends, strict=True)]


def asked(text: str) -> str:
    """What a task is compared by: of a conversation the last turn, with the turns before it behind it.

    The newest come first, as far as they fit: an encoder reads the beginning of a text, and what is asked stands at
    the end of a conversation. Any other text is compared as it is.
    """
    turns = [content for _, content in turns_of(text)]
    if len(turns) == 1:
        return text
    parts = [turns.pop()]
    room = FITS - len(parts[0])
    for turn in reversed(turns):
        if room <= 0:
            break
        parts.append(turn[: min(EARLIER, room)])
        room -= len(parts[-1])
    return "\n".join(parts)
