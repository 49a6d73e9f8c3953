"""An agent's result for a task, the memories that it was shown, and the answer where there is no model."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from memshare_broker.settings import OFFLINE
from memshare_broker.wire.grades import JudgedAnswer
from memshare_broker.wire.messages import Learnt, PartAnswer, Quoted, Shown, Step, Usage
from memshare_llm.no_model import NONE_SET, NoModelSet
from memshare_memory.door.messages import Found, Recollection
from memshare_memory.recall.near_enough import too_far


class AnswerMade(NamedTuple):
    """An answer and what it was made from. One that is not verified is neither graded nor remembered.

    `judged` are the answers to its sub-questions, and those rejected before it; `learnt` is what its sources taught,
    and `parts` its sub-questions that may become memories of their own. `withheld` was recalled and, at random, not
    shown; `randomized` says whether one of the memories might have been. `quoted` is the memory whose answer it is,
    word for word, where there is no model. `reasoning` and `notes` are as in `Answer`, `known` as
    in `AgentPair`.
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
    reasoning: str = ""
    notes: tuple[str, ...] = ()
    was_cut: bool = False
    known: tuple[str, ...] = ()


def nearest_answer(recalled: Recollection, journey: str, pool: str, least: float = -1.0) -> AnswerMade:
    """The answer of the most similar memory; raises `NoModelSet` where none was found.

    One whose similarity is below `least` is shown, and no answer: it says so, and is neither graded nor remembered.
    """
    nearest = recalled.nearest
    if nearest is None:
        raise NoModelSet(
            f"{NONE_SET} No memory of pool {pool!r} could be shown in its place. Once a model is set and the workers "
            f"are started again, `memshare dead retry {journey}` has this task answered."
        )
    far = too_far(nearest.similarity, least)
    quoted = Quoted(id=nearest.memory.id, submitter=nearest.memory.submitter, similarity=nearest.similarity)
    return AnswerMade(
        text=f"{far} {NONE_SET}" if far else nearest.memory.answer,
        model=OFFLINE,
        shown=(nearest.shown,),
        retriever_version=recalled.retriever_version,
        usage=Usage(),
        verified=not far,
        quoted=None if far else quoted,
    )


_HALF = 8  # bytes of the drawn number: one half decides whether, the other which


class Withholding(NamedTuple):
    """The memories that are shown, and the one that is withheld, if there is one.

    `randomized` says whether one might have been: such tasks alone are compared.
    """

    shown: tuple[Found, ...]
    withheld: Found | None = None
    randomized: bool = False


def withhold_one(task_id: str, found: Sequence[Found], share: float) -> Withholding:
    """Withhold one of the memories in this share of the tasks, 0 to 1.

    The draw depends on the task's id alone, so a message that is delivered again gets the same.
    """
    if not found or not share:
        return Withholding(tuple(found))
    drawn = blake2b(f"withhold {task_id}".encode(), digest_size=2 * _HALF).digest()
    if int.from_bytes(drawn[:_HALF], "big") >= share * 2 ** (8 * _HALF):
        return Withholding(tuple(found), randomized=True)
    place = int.from_bytes(drawn[_HALF:], "big") % len(found)
    return Withholding((*found[:place], *found[place + 1 :]), found[place], randomized=True)
