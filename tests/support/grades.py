"""What a scripted model replies where it is asked to grade, or to compare besides giving labels."""

from __future__ import annotations

import json
from typing import Any

from memshare.demo.student_server import comparisons, labels

CONTRADICTS = {"claims": "They are about the same thing.", "contradicts": True}
AGREES = {"claims": "They are about different things.", "contradicts": False}
"""What is said of two memories that do not contradict each other."""


def ranges(body: dict[str, Any], share: float) -> dict[str, dict[str, float]] | None:
    """This share of each criterion's points; None where a request asks for something else."""
    criteria = _document(body).get("criteria")
    if criteria is None:
        return None
    return {name: {"low": share * points, "high": share * points} for name, (points, _) in criteria.items()}


def judged(body: dict[str, Any]) -> dict[str, list[Any]] | None:
    """Every example helps, and all that is compared contradicts; None where a request asks for something else."""
    document = _document(body)
    if "pairs" in document:
        return comparisons(document, CONTRADICTS)
    return labels(document, lambda _prompt, _example: 0, CONTRADICTS) if "tasks" in document else None


def _document(body: dict[str, Any]) -> dict[str, Any]:
    """The JSON document of a request, empty where it has none."""
    try:
        found = json.loads(body["messages"][1]["content"])
    except (ValueError, LookupError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}
