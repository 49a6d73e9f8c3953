"""Opinions of people on answers: a wrong one is hidden and not admitted again, and a word can be taken back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple
from uuid import UUID

from memshare.client.errors import Forbidden, NotFound
from memshare.client.journey import Journey
from memshare.client.replies import FeedbackTaken
from memshare.client.rest.calls.journeys import JourneyReply
from memshare.client.rest.calls.memories import MemoryReply
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.journeys import as_it_was, sent_at
from memshare.operations.memories import get
from memshare_broker.delivery.hops import CREDIT, SETTLE
from memshare_broker.delivery.journey_records import ALSO_HID, OPINION, OPINION_BEFORE, TAKEN_BACK, note, noted, unnote
from memshare_broker.errors import BadInput, TryAgain
from memshare_broker.wire.grades import Opinion, VerdictTask
from memshare_broker.wire.messages import derived_id
from memshare_memory.admit.followed import shares_in_common
from memshare_memory.curate.requests import Edit
from memshare_memory.door.messages import JudgedMemory, SearchRequest
from memshare_memory.memory import Memory, memory_id, sayings
from memshare_memory.memory import said as words_of
from memshare_memory.people import (
    LIKE_PROMPT,
    WrongAnswer,
    called_wrong,
    least_alike,
    no_longer_wrong,
    note_wrong,
    words_that_hide,
    wrong_answers,
)
from memshare_memory.stores.store import Where

MOST = 50  # memories that still say what was called wrong
MOST_OF_IT = 0.5  # share of an answer that stands in the memory that misled it; what says less may be right
REMEMBERED = ("stored", "replaced")  # outcomes


def hide(
    backend: Backend, caller: Caller, journey: JourneyReply, pool: str, said: Opinion, *, is_new: bool
) -> tuple[UUID | None, tuple[UUID, ...]]:
    """Do what a word asks for, unless it is said once more: the memory that is hidden for it, and those that are shown
    and say the same to like prompts."""
    if is_new and said.hides:
        hidden = hold_back(backend, caller, journey, pool, said)
    else:
        hidden = next(iter(those_hidden(backend, [said.hid] if said.hid else [])), None)
    return hidden, tuple(still_shown(backend, caller, journey.model_copy(update={"opinion": said}), None).alike)


def hold_back(backend: Backend, caller: Caller, journey: JourneyReply, pool: str, said: Opinion) -> UUID | None:
    """Let a wrong answer not be admitted again, and hide the memory that it became, or that says the same.

    Hides only what is the caller's to hide, and returns its id, if so.
    """
    wrong = _memory_of(journey, pool)
    curated = caller.may("curate")
    _confirm(backend, caller, journey, is_wrong=True)
    answer, about = journey.answer or "", {"prompt": journey.prompt, "by": caller.name, "journey": journey.id}
    word = WrongAnswer(memory=wrong, pool=pool, submitter=journey.submitter, curated=curated, hides=True, **about)
    with backend.reaching():
        is_so_already = any(one.hides and one.memory == wrong for one in wrong_answers(backend.redis, answer))
        note_wrong(backend.redis, answer, word)
    backend.client.memories.follow_forgotten([wrong])  # if it lies in the trash
    for memory in (one.memory for one in backend.client.memories.judge([wrong])):
        says_so, is_shown = (
            words_of(memory.answer) == words_of(answer),
            memory.status != "hidden",
        )  # it may have changed
        if says_so and (is_shown or is_so_already) and (curated or memory.submitter == caller.name):
            if is_shown:
                backend.client.memories.edit(Edit(id=wrong, by=caller.name, status="hidden"))
            with backend.reaching():
                note(backend.redis, journey.id, OPINION, said.model_copy(update={"hid": wrong}).model_dump(mode="json"))
            return wrong
        with backend.reaching():  # it is hidden for another reason, or not the caller's to hide
            note_wrong(backend.redis, answer, word.model_copy(update={"hides": False}))
    return None


def that_stands(backend: Backend, caller: Caller, journey: JourneyReply, said: Opinion, opinion: Opinion) -> Opinion:
    """The first word on an answer, or of two that call it wrong a curator's, where the other counts for less."""
    with backend.reaching():
        words = [one for one in wrong_answers(backend.redis, journey.answer) if one.journey == journey.id]
    counts_for_less = said.by != caller.name and not any(one.curated for one in words)
    if not (caller.may("curate") and said.is_wrong and opinion.is_wrong and counts_for_less):
        return said
    with backend.reaching():
        note(backend.redis, journey.id, OPINION_BEFORE, said.model_dump(mode="json"))
        note(backend.redis, journey.id, OPINION, opinion.model_dump(mode="json"))
    return opinion


def may_take_back(caller: Caller, journey: JourneyReply) -> bool:
    """True if there is an opinion that the caller may take back: their own, or any as a curator."""
    said = journey.opinion
    return said is not None and (caller.may("curate") or (caller.may("offer") and caller.name == said.by))


def take_back(backend: Backend, caller: Caller, journey: JourneyReply) -> FeedbackTaken:
    """Take back what was said of an answer: the memories that it follows, what it became, and those that were hidden as
    they say the same, are as if it was not. What another word stands on stays hidden for that, and is named; a word in
    whose place this one stood stands again."""
    said, pools = journey.opinion, pools_looked_in(backend, journey)
    if said is None:
        raise BadInput("Nobody has said anything of this answer, so there is nothing to take back.")
    if not may_take_back(caller, journey):
        raise Forbidden(f"It takes the right 'curate' to take back what {said.by!r} said.")
    with backend.reaching():
        first = noted(backend.redis, journey.id, OPINION_BEFORE)
    told = [one for one in journey.memories if journey.feedback.get(one.id) == said.reward and not first]
    times = times_taken_back(backend, journey.id) + (not first)
    for one in told:
        name = str(derived_id("taken back", journey.id, str(one.id), str(times)))
        shown = one.model_copy(update={"share": None})
        verdict = VerdictTask(
            journey=name, pool=pools[0], pools=pools, prompt=journey.prompt, submitter=said.by, shown=(shown,),
            verdict=0.5, takes_back=True,
        )  # fmt: skip
        backend.client.send(CREDIT.next(verdict, name)._replace(decides=False))
    wrong = _memory_of(journey, pools[0])
    with backend.reaching():
        alike = _also_hid(backend, journey)
    there = [one.memory for one in backend.client.memories.judge([wrong, *alike])]
    with backend.reaching():
        hidden = [one for one in there if called_wrong(backend.redis, one)]  # and not by hand since
        no_longer_wrong(backend.redis, journey.answer or "", wrong, journey.id)
        is_left = any(one.memory == wrong for one in wrong_answers(backend.redis))
        note(backend.redis, journey.id, TAKEN_BACK, times)
        unnote(backend.redis, journey.id, OPINION, OPINION_BEFORE, ALSO_HID, *(f"feedback {one.id}" for one in told))
    backend.client.memories.follow_forgotten([wrong, *alike])
    kept_hidden = None
    for memory in hidden:
        is_its = said.hides and memory.id == wrong
        if memory.status == "hidden" and memory.why_hidden is None and (is_its or memory.id in alike):
            kept_hidden = kept_hidden or _shown_without_word(backend, caller, memory)
    is_corrected = any(one.id == wrong and one.history for one in there if one not in hidden)
    if said.hides and is_corrected and not is_left:  # what was written from it as it was is not stale for that any more
        backend.client.memories.edit(Edit(id=wrong, by=caller.name))
    if said.hides:
        _confirm(backend, caller, journey, is_wrong=False)
    if first:
        with backend.reaching():
            note(backend.redis, journey.id, OPINION, first)
        if (before := Opinion.model_validate(first)).hides:
            by = Caller(before.by, frozenset({"offer"}))
            kept_hidden = hold_back(backend, by, journey, pools[0], before) or kept_hidden
    audit(caller, "take feedback back", journey=journey.id, pool=pools[0], memories=len(told))
    return FeedbackTaken(taken=tuple(one.id for one in told), known=(), hidden=kept_hidden)


def _shown_without_word(backend: Backend, caller: Caller, memory: Memory) -> UUID | None:
    """Show a memory again, unless another word stands on what it says: that hides it from then on. Returns its id."""
    with backend.reaching():
        words = [*wrong_answers(backend.redis, memory.answer)]
        its = [one for one in words if one.memory == memory.id]
        if any(one.hides for one in its):
            return memory.id
        for one in (each for each in words if each.bars(memory.pool, memory.prompt)):  # so that it ends with that word
            of = one.copy_of or (None if one.journey else one.memory)
            now = {"memory": memory.id, "hides": True, "copy_of": of}
            note_wrong(backend.redis, memory.answer, one.model_copy(update=now))
            if one.journey:
                also = noted(backend.redis, one.journey, ALSO_HID) or ()
                note(backend.redis, one.journey, ALSO_HID, [*also, str(memory.id)])
            return memory.id
    backend.client.memories.edit(Edit(id=memory.id, by=caller.name, status="active"))
    with backend.reaching():  # the words that count for their submitter's tasks alone
        for one in its:
            note_wrong(backend.redis, memory.answer, one)
    return None


def _confirm(backend: Backend, caller: Caller, journey: JourneyReply, *, is_wrong: bool) -> None:
    """Let a wrong answer confirm no memory that it was shown any more, and do so again once that is taken back."""
    settled = journey.hops.get(SETTLE.name, 0.0) if journey.accepted and journey.memories else 0.0
    at = 0.0 if is_wrong else settled  # 0: by an answer that was found wrong
    for memory in backend.client.memories.judge([one.id for one in journey.memories]) if settled else ():
        was = memory.memory.confirmed
        if was is not None and (journey.submitted <= was <= settled if is_wrong else was == 0):
            backend.client.memories.edit(Edit(id=memory.memory.id, by=caller.name, confirmed=at))


def note_hidden(
    backend: Backend, caller: Caller, journey: JourneyReply, memories: Iterable[UUID], *, hidden: bool
) -> set[UUID]:
    """Note that the caller hid memories, or shows them again, as they say what a person found wrong: `take_back`.

    Returns those that may not be shown again, as the word of another journey hides them, too.
    """
    with backend.reaching():
        before, now = _also_hid(backend, journey), set(memories)
        if journey.opinion is not None:
            note(backend.redis, journey.id, ALSO_HID, [*sorted(map(str, before | now if hidden else before - now))])
    there, kept = [each.memory for each in backend.client.memories.judge(sorted(now))], set[UUID]()
    for one in there if not hidden else ():
        with backend.reaching():
            words = [each for each in wrong_answers(backend.redis, one.answer) if each.memory == one.id]
            others = [each for each in words if each.journey != journey.id]
            if any(each.hides for each in others):
                no_longer_wrong(backend.redis, one.answer, one.id)
                for each in others:
                    note_wrong(backend.redis, one.answer, each)
                kept.add(one.id)
    by = journey.opinion.by if is_wrong(journey) and journey.opinion else caller.name
    for one in there if hidden else ():
        about = {"prompt": one.prompt or journey.prompt, "by": by, "journey": journey.id}
        word = WrongAnswer(memory=one.id, pool=one.pool, submitter=one.submitter, curated=True, hides=True, **about)
        with backend.reaching():
            note_wrong(backend.redis, one.answer, word)
    return kept


def called_wrong_in(backend: Backend, memory: Memory) -> list[str]:
    """The journeys of the words for which a memory is hidden as long as it says this."""
    with backend.reaching():
        return [one.journey for one in words_that_hide(backend.redis, memory) if one.journey]


def those_hidden(backend: Backend, memories: Sequence[UUID]) -> list[UUID]:
    """The memories among these that are hidden; of those that a wrong answer hid they are the ones that still are."""
    with suppress(TryAgain):
        return [one.memory.id for one in backend.client.memories.judge(memories) if one.memory.status == "hidden"]
    return []


def standing(backend: Backend, memory: UUID | None) -> str:
    """A sentence that says whose word stands on what a memory says, first the one that hides it; empty for nobody."""
    for one in (each.memory for each in backend.client.memories.judge([memory] if memory else [])):
        with backend.reaching():
            words = [word for word in wrong_answers(backend.redis, one.answer) if word.pool == one.pool]
        for word in sorted(words, key=lambda word: (word.memory != one.id, not word.hides)):
            return f" {word.by} called the same answer wrong ({word.of}), and that stands."
    return ""


def still_lost(backend: Backend, memories: Sequence[UUID]) -> str:
    """A sentence that says how many of some memories are not shown, as others were found right; empty for none."""
    there = [one for one in backend.client.memories.judge(memories) if one.memory.status == "active"]
    lost = [one for one in there if one.lost_to]
    right = dict.fromkeys(f"memory {str(each)[:8]}" for one in lost for each in one.lost_to)
    were = "was" if len(right) == 1 else "were"
    return f" Not shown all the same, as {', '.join(right)} {were} found right: {len(lost)}." if lost else ""


def that_are_shown(backend: Backend, memory: Memory) -> list[Memory]:
    """The memories written from a hidden one that tasks are still shown; none of another."""
    where = Where(pool=memory.pool, parents=[memory.id], status="active")
    there = backend.client.memories.page(where, MOST).memories if memory.status == "hidden" else ()
    return [one.memory for one in backend.client.memories.judge([one.id for one in there]) if not one.lost_to]


def _also_hid(backend: Backend, journey: JourneyReply) -> set[UUID]:
    return {UUID(str(one)) for one in noted(backend.redis, journey.id, ALSO_HID) or ()}


def times_taken_back(backend: Backend, journey: str) -> int:
    """How often what was said of an answer was taken back: what is said after that is said anew."""
    with backend.reaching():
        return int(noted(backend.redis, journey, TAKEN_BACK) or 0)


def may_say(caller: Caller, journey: JourneyReply) -> bool:
    """True if the caller may still say something of the answer; who does not curate only of their own recalls."""
    is_own = journey.recall_id is None or journey.submitter == caller.name or caller.may("curate")
    there = journey.answer is not None and journey.ended and journey.pool is not None and journey.trial is None
    is_answer = journey.what in ("task", "re-grading") and journey.opinion is None and journey.state != "unanswered"
    return there and is_own and is_answer and caller.may("offer", "curate")


def is_wrong(journey: JourneyReply) -> bool:
    """True if somebody said that the answer is wrong or, without such an opinion, its grade rejected it."""
    if journey.opinion is not None:
        return journey.opinion.is_wrong
    return journey.score is not None and not journey.score.accepted


def is_disputed(backend: Backend, found: MemoryReply | None) -> bool:
    """True if a memory that tasks are shown contradicts one, and nobody has decided which is right."""
    return found is not None and any(
        found.is_open(one.memory) for one in backend.client.memories.judge(found.conflicts)
    )


class StillShown(NamedTuple):
    """The memories that tasks are shown and that say what a person found wrong: to a prompt whose similarity is `least`
    or more, and to others, where more than a few words say it."""

    alike: list[UUID]
    others: list[UUID]
    least: float


def still_shown(backend: Backend, caller: Caller, journey: JourneyReply, source: MemoryReply | None) -> StillShown:
    """The memories that still say what a person found wrong, the `source` first."""
    least = least_alike(journey.answer or "")
    if not (journey.opinion and journey.opinion.is_wrong and journey.pool and caller.may("curate")):
        return StillShown([], [], least)
    answer = journey.answer or ""
    is_whole = source is not None and shares_in_common(source.memory.answer, [answer])[0] >= MOST_OF_IT
    found = [source.memory.id] if source and is_whole and source.memory.status == "active" else []
    pools = [*filter(caller.sees, pools_looked_in(backend, journey))]
    where, alike = Where(pools=pools, status="active", saying=sayings(answer)), {*found}
    with suppress(TryAgain):
        same = backend.client.memories.search(SearchRequest(text=journey.prompt, k=MOST, where=where))
        found += [one.memory.id for one in same if one.similarity >= least or least == LIKE_PROMPT]
        alike |= {one.memory.id for one in same if one.similarity >= least}
    some = list(dict.fromkeys(found))[:MOST]
    lost = {one.memory.id for one in backend.client.memories.judge(some) if one.lost_to}  # tasks are not shown these
    shown = [one for one in some if one not in lost]
    return StillShown([one for one in shown if one in alike], [one for one in shown if one not in alike], least)


def says_so(journey: JourneyReply, memory: Memory) -> bool:
    """True if somebody says that an answer is wrong, and a memory says the same, or what it said when that was made."""
    is_wrong = journey.opinion is not None and journey.opinion.is_wrong
    is_same = words_of(memory.answer) == words_of(journey.answer or "") or as_it_was(memory, sent_at(journey)) == memory
    return is_wrong and is_same


class Kept(NamedTuple):
    """The memory that an answer became or that says the same, and what became of it; `found` is None once forgotten.

    `state` is its status, "forgotten" or "changed", `is_its` whether it was kept from the answer, `is_followed` whether
    something is stale with it.
    """

    id: UUID
    found: MemoryReply | None
    state: str
    is_its: bool
    is_followed: bool = False


def kept(backend: Backend, caller: Caller, journey: JourneyReply) -> Kept | None:
    """The memory that a journey names or that was hidden for it; None where nothing is known or can be done now."""
    name = journey.memory_id or (journey.opinion.hid if journey.opinion else None)
    if name is None:
        return None
    is_its = name == journey.memory_id and journey.outcome in REMEMBERED
    try:
        found = get(backend, caller, name)
    except NotFound:
        stale = backend.client.memories.page(Where(parents=[name], status="stale"), 1).memories
        return Kept(name, None, "forgotten", is_its, bool(stale))
    except (Forbidden, TryAgain):
        return None
    says_so = words_of(found.memory.answer) == words_of(journey.answer or "")
    return Kept(name, found, found.memory.status if says_so else "changed", is_its)


def pools_looked_in(backend: Backend, journey: JourneyReply) -> tuple[str, ...]:
    """The pools that the agent of a task looked in, its own first; raises `BadInput` where that is not known."""
    if journey.pool is None:
        raise BadInput(f"The pool of the task {journey.id!r} is not known any more.")
    pools = backend.pools_of(journey.agent, journey.submitter)
    return tuple(pools) if journey.pool in pools else (journey.pool,)


def contradicting(journey: Journey | JourneyReply, judged: Iterable[JudgedMemory | MemoryReply]) -> set[UUID]:
    """Memories among these that contradict what was kept from an answer, unless a person said that they do not."""
    return {one.memory.id for one in judged if _memory_of(journey, one.memory.pool) in one.conflicts}


def _memory_of(journey: Journey | JourneyReply, pool: str) -> UUID:
    return journey.memory_id or memory_id(pool, journey.prompt, journey.answer or "")
