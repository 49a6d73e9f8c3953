"""What a run's answers rest on: the memories that earn its verdicts, and what pages and sub-questions taught it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from memshare_agents.reasoning.browser import UNQUOTED
from memshare_agents.reasoning.engine import EngineRun
from memshare_agents.reasoning.run_state import leaves
from memshare_agents.reasoning.short_term import ShortTermItem
from memshare_broker.wire.grades import JudgedAnswer
from memshare_broker.wire.messages import MAX_LEARNT, Learnt, PartAnswer, Shown
from memshare_memory.memory import folded


def shown_in(run: EngineRun) -> tuple[Shown, ...]:
    """The memories that the last answer used, each with its share where the answer was checked; largest first."""
    used = set(run.proposal.used if run.proposal else ())
    found = [leaf for item in run.items if item.label in used for leaf, _ in leaves(item)]
    if run.verdict is None:
        return _shown((item, None) for item in found)
    return _shown([*((item, 0.0) for item in found), *_last(run)])


def judged_in(run: EngineRun) -> tuple[JudgedAnswer, ...]:
    """Every answer of a run that was judged and rests on memories, but for the verified one to the whole question.

    That one is graded, and credits what it rests on with its grade.
    """
    judged = [
        JudgedAnswer(shown=_shown(attempt.grounds), verdict=float(attempt.verified))
        for attempt in run.attempts
        if not (attempt.verified and attempt.whole)
    ]
    return tuple(answer for answer in judged if any(one.share for one in answer.shown))


def learnt_in(run: EngineRun, now: float) -> tuple[Learnt, ...]:
    """What a verified answer has from documents and web pages that were read for it, and that quote what they tell."""
    pages = {item.text: item for item, share in _last(run) if run.verified and share > 0 and item.kind == "page"}
    return tuple(
        Learnt(statement=item.text, source=item.source, read=now, parents=item.parents)
        for item in list(pages.values())[:MAX_LEARNT]
        if not item.text.endswith(UNQUOTED)
    )


def parts_in(run: EngineRun, question: str, most: int) -> tuple[PartAnswer, ...]:
    """The first sub-questions with verified answers, each once; none that is the task's own question."""
    found: dict[str, PartAnswer] = {}
    for one in run.attempts:
        known = folded(one.question)
        if one.verified and not one.whole and known != folded(question) and known not in found:
            found[known] = PartAnswer(question=one.question, answer=one.answer, shown=_shown(one.grounds))
    return tuple(found.values())[:most]


def _last(run: EngineRun) -> Iterable[tuple[ShortTermItem, float]]:
    whole = [attempt for attempt in run.attempts if attempt.whole]
    return whole[-1].grounds if whole and run.verdict is not None else ()


def _shown(found: Iterable[tuple[ShortTermItem, float | None]]) -> tuple[Shown, ...]:
    shares: defaultdict[UUID, list[float]] = defaultdict(list)
    items: dict[UUID, ShortTermItem] = {}
    for item, share in found:
        if item.memory_id is not None:
            items[item.memory_id] = item
            shares[item.memory_id] += [] if share is None else [share]
    shown = [
        Shown(
            id=one,
            similarity=item.similarity,
            share=min(sum(shares[one]), 1.0) if shares[one] else None,
            proven=item.proven,
            said=item.said,
        )
        for one, item in items.items()
    ]
    return tuple(sorted(shown, key=lambda one: -(one.share or 0)))
