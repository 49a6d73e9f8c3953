"""What consolidation reads from the pool: the texts of the lessons, and texts of other matters."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib.resources import files
from typing import NamedTuple
from uuid import UUID

from memshare_memory.pool.move import Pages


class Texts(NamedTuple):
    """The encoded text of each memory that a lesson names, and how many memories there are."""

    keys: dict[UUID, str]
    memories: int


def read_texts(pages: Pages, wanted: Collection[UUID], progress: Callable[[int], None]) -> Texts:
    """Go through the pool once, for the texts of the memories that are wanted; those that were forgotten have none."""
    keys: dict[UUID, str] = {}
    count, after = 0, None
    while True:
        page = pages(after)
        for memory in page.memories:
            if memory.id in wanted:
                keys[memory.id] = memory.asked
        count += len(page.memories)
        progress(count)
        after = page.after
        if after is None:
            return Texts(keys, count)


def general_texts() -> list[str]:
    """Texts of all sorts, which no agent is likely to be for."""
    return files("memshare_trainer.consolidation").joinpath("general.txt").read_text(encoding="utf-8").splitlines()
