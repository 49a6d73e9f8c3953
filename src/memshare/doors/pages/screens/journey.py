"""Page of a journey: its hops, the memories shown and their effect, the grade, what was learnt, and the cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote

from memshare.client.errors import Forbidden, NotFound
from memshare.client.journey import asked_of, kept_for
from memshare.client.rest.calls.journeys import JourneyReply, PromptReply
from memshare.client.rest.calls.memories import MemoryReply
from memshare.doors.pages.stream import state_in
from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare.operations import opinions
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.journeys import as_it_was, is_first, own_journey, prompt, sent_at
from memshare.operations.memories import find_forgotten, get
from memshare.operations.search import share_of, that_are_followed
from memshare.operations.serving import note_decided
from memshare.operations.sharing import give_feedback
from memshare_broker.delivery.hops import ANSWER, HOPS, SCORE, SETTLE
from memshare_broker.errors import BadInput, TryAgain
from memshare_broker.wire.messages import Shown, Step, Usage
from memshare_llm.limits.budget import Prices, load_prices
from memshare_memory.admit.followed import LEAST_FOLLOWED, telling
from memshare_memory.memory import Memory

LIKE = 0.5  # cosine of the prompts of a task and of a memory that may answer it


class MemoryShown(NamedTuple):
    """A memory that was shown, with what the task and it have in common; `found` is None where it is gone."""

    shown: Shown
    found: MemoryReply | None
    gone: str
    """Why it is not found, where that is no forgetting."""
    since: str
    """Its change since then: forgotten, changed, or neither."""
    text: Memory | None
    """Its text, from the pool or, for whoever may bring it back, from the trash."""
    words: tuple[str, ...]
    concepts: tuple[str, ...]
    feedback: float | None
    withheld: bool
    followed: float | None
    """Its share in the answer, or how much of what it said then stands there; None where that is not known."""
    follows: bool


class _Sought(NamedTuple):
    """Result of looking for a memory: in the pool, in the trash, or why in neither."""

    found: MemoryReply | None = None
    trashed: Memory | None = None
    is_forgotten: bool = False
    gone: str = ""


def memories_shown(backend: Backend, caller: Caller, journey: JourneyReply) -> Iterator[MemoryShown]:
    """The memories that were shown, the best last, and the memory that was withheld."""
    own = telling(journey.prompt)
    concepts = _names(journey.extracted.concepts) if journey.extracted else set()
    places = [(one, _seek(backend, caller, one)) for one in (*journey.memories, journey.withheld) if one]
    there = {one.id: memory for one, at in places if (memory := at.found.memory if at.found else at.trashed)}
    counting = that_are_followed(journey, there, [at.found for _, at in places if at.found])
    for one, sought in places:
        memory, follows = there.get(one.id), one.id in counting and one.id in there
        then = as_it_was(memory, sent_at(journey)) if memory else None
        text = memory if sought.found or caller.may("curate") else None
        theirs = telling(text.prompt or text.answer) if text else {}
        yield MemoryShown(
            shown=one,
            found=sought.found,
            gone=sought.gone,
            since="forgotten since" if sought.is_forgotten else "changed since" if then != memory else "",
            text=text,
            words=tuple(word for stem, word in theirs.items() if stem in own),
            concepts=tuple(sorted(concepts & _names(text.concepts))) if text else (),
            feedback=journey.feedback.get(one.id),
            withheld=one is journey.withheld,
            followed=share_of(journey, one, then, follows=follows),
            follows=follows,
        )


def misled(journey: JourneyReply, memories: Sequence[MemoryShown]) -> MemoryShown | None:
    """The memory that a wrong answer followed most, also where it was forgotten since."""
    there = [one for one in memories if opinions.is_wrong(journey) and (one.followed or 0.0) >= LEAST_FOLLOWED]
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


REWARDS = {"right": 1.0, "wrong": 0.0}
HIDDEN = "The memory that says so is hidden: no task is shown it."


class OpinionShown(NamedTuple):
    """An opinion on an answer: whose it is, and which of the memories shown it was told of."""

    by: str
    is_wrong: bool
    told: Sequence[MemoryShown]
    has_pairs: bool
    """True if some of them are prompts with answers, from which the retriever learns."""
    speaks_of_own: bool
    """True if a memory of the opinion's author was among them."""


@PAGES.action("/journeys/{id}/feedback")
def say(visit: Visit) -> Done:
    """Tell that the answer of a journey is right or wrong, as feedback on all that it was shown, or take that back."""
    journey, answer = visit.path["id"], visit.field("answer")
    reward, back = REWARDS.get(answer), answer == "undecided"
    hidden = visit.ask("The feedback", give_feedback, journey=journey, reward=reward, take_back=back).hidden
    here = f"/journeys/{quote(journey, safe='')}"
    if back:
        said = "It is taken back: nothing is said of this answer."
        return Done(f"{here}#opinion", said + opinions.standing(visit.backend, hidden))
    note_decided(visit.backend)  # on the page it is a person's word, elsewhere it may be a program's
    return Done(f"{here}#opinion", HIDDEN if hidden else "", f"{here}/feedback?answer=undecided")


def opinion_shown(visit: Visit, journey: JourneyReply, memories: Sequence[MemoryShown]) -> OpinionShown | None:
    """The opinion on the answer; None where nobody has said anything yet."""
    if journey.opinion is None:
        return None
    by, wrong = journey.opinion.by, journey.opinion.is_wrong
    told = [one for one in memories if one.feedback is not None and (one.feedback < 0.5) == wrong]
    there = [one.found for one in told if one.found is not None]
    return OpinionShown(
        by="You" if by == visit.caller.name else by,
        is_wrong=wrong,
        told=told,
        has_pairs=any(not one.memory.is_statement for one in there),
        speaks_of_own=any(one.memory.submitter == by for one in there),
    )


ENDED = {hop.name: hop.ended for hop in HOPS}
"""Stage → what a person reads once it has ended."""
USUAL = (ANSWER.name, SCORE.name, SETTLE.name)


class HopShown(NamedTuple):
    """A hop on the line: when it ended, and how many seconds after the one before."""

    name: str
    at: float | None
    after: float | None


class Cost(NamedTuple):
    """Usage of a hop, and its cost; None where its model has no price."""

    hop: str
    model: str
    used: Usage
    money: float | None


class StepShown(NamedTuple):
    """A step of the reasoning agent, with the steps that it called."""

    step: Step
    asked: str
    steps: tuple[StepShown, ...]


@PAGES.screen("/journeys/{id}")
def journey(visit: Visit) -> Screen:
    """A journey as it is now, and another one beside it where the URL names one."""
    backend, caller = visit.backend, visit.caller
    found = own_journey(backend, caller, visit.path["id"])
    memories, prices = [*memories_shown(backend, caller, found)], load_prices(backend.settings.prices)
    misleading = misled(found, memories)
    source = None  # says what the answer says, all of it and still, and not to another question
    if misleading and misleading.followed == 1 and misleading.shown.similarity >= LIKE and not misleading.since:
        source = misleading.found
    beside = visit.field("beside")
    return Screen(
        "journey",
        {
            "journey": found,
            "hops": [*_hops(found)],
            "memories": memories,
            "steps": _tree(found.steps),
            "costs": [*_costs(found, prices)],
            "prompt": _prompt(visit, found),
            "currency": prices.currency,
            "misled": misleading,
            "is_disputed": opinions.is_disputed(backend, misleading.found if misleading else None),
            "still_shown": opinions.still_shown(backend, caller, found, source),
            "also_hidden": opinions.those_hidden(backend, found.also_hid),
            "is_wrong": opinions.is_wrong(found),
            "opinion": opinion_shown(visit, found, memories),
            "kept": opinions.kept(backend, caller, found),
            "may_say": opinions.may_say(caller, found),
            "may_take_back": opinions.may_take_back(caller, found),
            "learns": backend.settings.learn,
            "is_first": is_first(backend, found),
            "details_kept": kept_for(backend.client.settings.traces_days),
            "beside": own_journey(backend, caller, beside) if beside else None,
        },
        watches=found.id,
        seen=state_in(found),
    )


def _prompt(visit: Visit, journey: JourneyReply) -> PromptReply | str | None:
    """The prompt as it was sent, or why it cannot be shown; None where no model was sent one."""
    if journey.answer is None or journey.usage is None or journey.steps or not visit.caller.may("recall"):
        return None
    try:
        return prompt(visit.backend, visit.caller, journey.id)
    except BadInput:
        return None  # it was not an agent of memshare that answered
    except TryAgain as error:
        return str(error)


def _hops(journey: JourneyReply) -> Iterator[HopShown]:
    """The hops that ended, in their order, and the hops to come while the journey goes on."""
    yield HopShown("submitted", journey.submitted, None)
    before = journey.submitted
    done = {ANSWER.name: journey.state != "unanswered", SCORE.name: journey.score is not None}
    done[SETTLE.name] = journey.outcome in opinions.REMEMBERED
    for name, at in sorted(journey.hops.items(), key=lambda one: one[1]):
        ended = ENDED.get(name, name)
        yield HopShown(ended if done.get(name, True) else f"not {ended}", at, max(at - before, 0.0))
        before = at
    if not journey.ended and not journey.details_dropped and journey.what == "task":
        yield from (HopShown(ENDED[name], None, None) for name in USUAL if name not in journey.hops)


def _tree(steps: Sequence[Step], parent: int | None = None) -> tuple[StepShown, ...]:
    known = {step.number for step in steps}
    return tuple(
        StepShown(step, asked_of(step), _tree(steps, step.number))
        for step in steps
        if (step.parent if step.parent in known else None) == parent
    )


def _costs(journey: JourneyReply, prices: Prices) -> Iterator[Cost]:
    """The cost of each hop that asked a model."""
    asked: list[tuple[str, str | None, Usage]] = []
    if journey.usage:
        asked.append(("answer", journey.model, journey.usage))
    if journey.score:
        asked.append(("grade", journey.score.model, journey.score.usage))
    if journey.lesson:
        asked.append(("lesson", journey.lesson.model, journey.lesson.usage))
    if journey.compared:
        asked.append(("comparison", journey.compared.model, journey.compared.usage))
    if journey.extracted:
        asked.append(("concepts", journey.extracted.model, journey.extracted.usage))
    for hop, model, used in asked:
        if used.prompt_tokens or used.completion_tokens:
            steps = [(one.model, one.usage) for one in journey.steps if one.model] if hop == "answer" else []
            yield Cost(hop, model or "", used, _money(prices, steps or [(model or "", used)]))


def _money(prices: Prices, calls: Sequence[tuple[str, Usage]]) -> float | None:
    """The cost of some calls; None where a model of theirs has no price."""
    if any(prices.of(model) is None for model, _ in calls):
        return None
    return sum(prices.cost(model, used) for model, used in calls)
