"""What is kept of a run: one bounded record a step, from which `memshare trace` draws the tree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from memshare_broker.wire.messages import Step

# Characters, and how many: a run of 100 steps stays a small message.
ARGUMENTS, SAID, READ = 600, 1_000, 60
MOST_READ, MOST_KNOWLEDGE = 12, 40


def record(
    *,
    number: int,
    parent: int | None,
    depth: int,
    operator: str,
    arguments: Mapping[str, Any],
    said: str,
    read: tuple[str, ...] = (),
    knowledge: tuple[UUID, ...] = (),
    **more: Any,
) -> Step:
    """A step with its texts cut to their lengths; white space within what was read is made plain."""
    names = [_short(" ".join(name.split()), READ) for name in read[:MOST_READ]]
    if len(read) > MOST_READ:
        names.append(f"and {len(read) - MOST_READ} more")
    return Step(
        number=number,
        parent=parent,
        depth=depth,
        operator=operator,
        arguments=_short(json.dumps(arguments, ensure_ascii=False), ARGUMENTS),
        read=tuple(names),
        said=_short(said, SAID),
        knowledge=tuple(dict.fromkeys(knowledge))[:MOST_KNOWLEDGE],
        **more,
    )


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
