"""Conditions on memories as arguments of a call; all must hold."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TypedDict
from uuid import UUID


class ConditionArguments(TypedDict, total=False):
    """Which memories count, by what is known of them; days are of UTC."""

    agent: str | None
    kind: str | None
    submitter: str | None
    model: str | None
    since: date | str | None
    until: date | str | None
    words: Sequence[str]
    score_from: float | None
    score_to: float | None
    credibility_from: float | None
    credibility_to: float | None


class FilterArguments(ConditionArguments, total=False):
    """The same for a recall, with memories that are left out."""

    not_shown: Sequence[UUID | str]
