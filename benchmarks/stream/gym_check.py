"""The check of a rubric: whether reasoning-gym's verifier gives an answer all points."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any


def fully_right(prompt: str, answer: str, *, entries: str) -> bool:
    """Whether the answer to a task is right; `entries` is a file of JSON lines with each `entry` and its `family`."""
    dataset, entry = _entries(entries)[prompt]
    return bool(dataset.score_answer(answer.strip(), entry) >= 1)


@lru_cache(maxsize=4)
def _entries(file: str) -> dict[str, tuple[Any, Any]]:
    from reasoning_gym import create_dataset

    found, datasets = {}, {}
    for line in Path(file).read_text("utf-8").splitlines():
        one = json.loads(line)
        family, entry = one["family"], one["entry"]
        if family not in datasets:
            datasets[family] = create_dataset(family, size=1, seed=1)
        found[entry["question"]] = datasets[family], entry
    return found
