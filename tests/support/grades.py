"""What a scripted model replies where it is asked to grade, or to compare besides giving labels."""

from __future__ import annotations

import json
from typing import Any


def ranges(body: dict[str, Any], share: float) -> dict[str, dict[str, float]] | None:
    """This share of each criterion's points; None where a request asks for something else."""
    try:
        criteria = json.loads(body["messages"][1]["content"])["criteria"]
    except (ValueError, LookupError, TypeError):
        return None
    return {one["name"]: {"low": share * one["points"], "high": share * one["points"]} for one in criteria}


def agreeing(document: dict[str, Any]) -> dict[str, Any]:
    """No rival that a request for labels names contradicts anything."""
    return {
        name: {"claims": "They are about different things.", "contradicts": False}
        for name in document.get("rivals", ())
    }
