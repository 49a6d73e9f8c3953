"""Learning a whole log again: for an encoder whose vectors no adapter has seen, or without what is to be unlearnt."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from memshare_broker.wire.lessons import Evidence
from memshare_memory.admit.lessons import EVIDENCE_AT_ONCE
from memshare_trainer.adapter_state import State
from memshare_trainer.example import Example
from memshare_trainer.learning import step
from memshare_trainer.learnt import Learnt
from memshare_trainer.replay_buffer import EVIDENCE_REPLAYED, REPLAYED, is_held_out_evidence
from memshare_trainer.reservoir import is_held_out
from memshare_trainer.stored_lesson import StoredLesson, example_of
from memshare_trainer.words import Words


def relearn(lessons: Sequence[StoredLesson], evidence: Sequence[Evidence], dimension: int) -> Learnt:
    """What a learner comes to with a step for each lesson, in their order, and replay; what is held out stays so.

    Where there is more evidence than comes with lessons, it has further steps of its own.
    """
    words, drawn, state = Words(), Random(0), State.start(dimension)
    said = [example_of(one) for one in evidence]
    for example in (*(one.example() for one in lessons), *said):
        words.add(example)
    taught = [one.example() for one in lessons if not is_held_out(one.number)]
    usable = [
        example
        for one, example in zip(evidence, said, strict=True)
        if not is_held_out_evidence(one) and words.share(one.by, one.memory.id, one.memory.submitter)
    ]
    for count in range(max(len(taught), len(usable) // EVIDENCE_AT_ONCE)):
        earlier: list[Example] = drawn.sample(taught[:count], min(REPLAYED, len(taught[:count])))
        evidence_now = drawn.sample(usable, min(EVIDENCE_REPLAYED, len(usable)))
        state = step(state, [*taught[count : count + 1], *earlier, *evidence_now], words)
    return Learnt.of(state, words)
