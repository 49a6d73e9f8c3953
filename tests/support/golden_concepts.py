"""The published figures of the original knowledge graph, and the cards that they are about."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

from memshare_concepts.concept_graph import ConceptGraph

ROOT = Path(__file__).parents[2]


@cache
def golden() -> dict[str, Any]:
    """The figures. MIT, Copyright (c) 2023 Thomas Hartke; `source` in the file says where they are from."""
    found: dict[str, Any] = json.loads((ROOT / "tests/data/concepts_golden.json").read_text(encoding="utf-8"))
    return found


@cache
def cards() -> list[dict[str, Any]]:
    """The bundled flashcards, with the names of their concepts exactly as they were written."""
    lines = (ROOT / "concepts/memshare_concepts/flashcards/flashcards.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def levels(card: int) -> dict[int, list[str]]:
    """The concepts of a card by level; of two topics the first alone, as in the original."""
    found = {int(level): [str(name) for name in names] for level, names in cards()[card]["concepts"].items()}
    return found | {0: found[0][:1]}


def verbatim_graph(numbers: Iterable[int], **settings: Any) -> ConceptGraph:
    """The graph of some cards with whole vectors, where every spelling is a concept of its own, as in the original."""
    settings = {"key": str, "most_links": None, "most_weights": None} | settings
    return ConceptGraph({card_id(number): levels(number) for number in numbers}, **settings)


def card_id(number: int) -> UUID:
    return UUID(int=number)
