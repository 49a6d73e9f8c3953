"""A conversation as one text, and what of that text is asked."""

from __future__ import annotations

import re
from collections.abc import Iterable

FITS = 900  # characters of earlier turns and the last one together: about what a small encoder reads
EARLIER = 300  # characters of an earlier turn, so that no single one takes all the room

_TURN = re.compile(r"^(User|Assistant): ", re.MULTILINE)


def written(turns: Iterable[tuple[str, str]]) -> str:
    """Turns, each a role and what was said, as the text that is graded and remembered."""
    return "\n".join(f"{role.capitalize()}: {content}" for role, content in turns)


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
