"""The memories that a journey was shown, as its page tells of them: also those that were changed or forgotten since."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memshare.client.errors import Forbidden, NotFound
from memshare.client.rest.calls.journeys import JourneyReply
from memshare.client.rest.calls.memories import MemoryReply
from memshare.client.sent_prompt import as_it_was, sent_at
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.memories import get
from memshare.operations.shown_to import share_of
from memshare.operations.trash import find_forgotten
from memshare_broker.errors import TryAgain
from memshare_broker.wire.messages import Shown
from memshare_memory.admit.crediting import LEAST_FOLLOWED
from memshare_memory.memory import Memory

_WORD = re.compile(r"\w{4,}")
_SAYS_LITTLE = frozenset(
    _WORD.findall(
        "about after also been before could does each from give have into just make more most much only other "
        "over same should some such tell than that their them then there these they this those very were what "
        "when where which while will with would write your"
    )
)
"""Words that are in most prompts, whatever these are about."""


@dataclass(frozen=True)
class MemoryShown:
    """A memory that was shown, with what the task and it have in common; `found` is None where it is gone."""

    shown: Shown
    found: MemoryReply | None
    gone: str
    """Why it is not found, where that is no forgetting."""
    since: str
    """Whether it was forgotten or changed since."""
    text: Memory | None
    """What it says, from the pool or, for whoever may bring it back, from the trash."""
    words: tuple[str, ...]
    concepts: tuple[str, ...]
    feedback: float | None
    withheld: bool
    followed: float | None
    """Its share in the answer, or how much of what it said then stands there; None where that is not known."""


@dataclass(frozen=True)
class _Sought:
    """What there is of a memory: in the pool, in the trash, or why in neither."""

    found: MemoryReply | None = None
    trashed: Memory | None = None
    is_forgotten: bool = False
    gone: str = ""


def memories_shown(backend: Backend, caller: Caller, journey: JourneyReply) -> Iterator[MemoryShown]:
    """Those that were shown, the best last, and the one that was withheld."""
    own = set(_WORD.findall(journey.prompt.casefold())) - _SAYS_LITTLE
    concepts = _names(journey.extracted.concepts) if journey.extracted else set()
    withheld = [journey.withheld] if journey.withheld else []
    for one in [*journey.memories, *withheld]:
        sought = _seek(backend, caller, one)
        memory = sought.found.memory if sought.found else sought.trashed
        then = as_it_was(memory, sent_at(journey)) if memory else None
        changed = "changed since" if then != memory else ""
        text = memory if sought.found or caller.may("curate") else None
        theirs = _WORD.findall((text.prompt or text.answer).casefold()) if text else []
        yield MemoryShown(
            shown=one,
            found=sought.found,
            gone=sought.gone,
            since="forgotten since" if sought.is_forgotten else changed,
            text=text,
            words=tuple(dict.fromkeys(word for word in theirs if word in own)),
            concepts=tuple(sorted(concepts & _names(text.concepts))) if text else (),
            feedback=journey.feedback.get(one.id),
            withheld=one is journey.withheld,
            followed=share_of(journey, one, then) if one is not journey.withheld else None,
        )


def is_wrong(journey: JourneyReply) -> bool:
    """Whether somebody said that the answer is wrong or, where nobody said anything of it, its grade rejected it."""
    if journey.opinion is not None:
        return journey.opinion.is_wrong
    return journey.score is not None and not journey.score.accepted


def misled(journey: JourneyReply, memories: Sequence[MemoryShown]) -> MemoryShown | None:
    """The memory that a wrong answer followed most, also where it was forgotten since."""
    if not is_wrong(journey):
        return None
    there = [one for one in memories if (one.followed or 0.0) >= LEAST_FOLLOWED]
    return max(there, key=lambda one: one.followed or 0.0, default=None)


def _seek(backend: Backend, caller: Caller, shown: Shown) -> _Sought:
    try:
        return _Sought(found=get(backend, caller, shown.id))
    except NotFound:
        return _Sought(trashed=find_forgotten(backend, caller, shown.id), is_forgotten=True)
    except (Forbidden, TryAgain) as error:
        return _Sought(gone=str(error))


def _names(concepts: object) -> set[str]:
    assert isinstance(concepts, dict)
    return {str(name) for names in concepts.values() for name in names}
