"""What became of a task in an agent's hands, by one call of the model or by a run of the engine."""

from __future__ import annotations

from typing import NamedTuple

from memshare.broker.wire.messages import Shown, Step, Usage


class Answered(NamedTuple):
    """An answer and what it was made from. One that is not verified is neither graded nor remembered."""

    text: str
    model: str
    shown: tuple[Shown, ...]
    retriever_version: int
    usage: Usage
    steps: tuple[Step, ...] = ()
    verified: bool = True
