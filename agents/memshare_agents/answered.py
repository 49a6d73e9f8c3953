"""What became of a task in an agent's hands: by one call of the model, a run of the engine, or without a model."""

from __future__ import annotations

from typing import NamedTuple

from memshare_broker.wire.grades import JudgedAnswer
from memshare_broker.wire.messages import Learnt, PartAnswer, Quoted, Shown, Step, Usage


class Answered(NamedTuple):
    """An answer and what it was made from. One that is not verified is neither graded nor remembered.

    `judged` are the answers to its sub-questions, and those rejected before it; `learnt` is what its sources taught,
    and `parts` its sub-questions that may become memories of their own. `withheld` was recalled and, at random, not
    shown; `randomized` says whether one of the memories might have been. `quoted` is the memory whose answer it is,
    word for word, where there is no model.
    """

    text: str
    model: str
    shown: tuple[Shown, ...]
    retriever_version: int
    usage: Usage
    steps: tuple[Step, ...] = ()
    verified: bool = True
    judged: tuple[JudgedAnswer, ...] = ()
    learnt: tuple[Learnt, ...] = ()
    parts: tuple[PartAnswer, ...] = ()
    withheld: Shown | None = None
    randomized: bool = False
    quoted: Quoted | None = None
