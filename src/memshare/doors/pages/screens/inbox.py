"""Needs you: one list of what a person has to decide, the oldest first."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple
from urllib.parse import quote, urlencode
from uuid import UUID

from memshare.client.errors import NotFound
from memshare.doors.pages.render import counted, short
from memshare.doors.pages.screens.memory import MOST_UNDONE, back_from_trash
from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare.operations.concepts import decide_question, duplicates, say_different
from memshare.operations.decisions import decide_conflict as decide
from memshare.operations.decisions import decide_promotion as promote
from memshare.operations.decisions import trust
from memshare.operations.journeys import cancel
from memshare.operations.listings import agents
from memshare.operations.memories import edit, forget, get, grade
from memshare.operations.needs import needs
from memshare.operations.operating import decide_letters
from memshare.operations.opinions import still_lost
from memshare_broker.errors import BadInput
from memshare_memory.curate.requests import ConflictDecision
from memshare_memory.memory import Status

HERE = "/inbox"
SHOWN = 50
AT_ONCE = 200
"""Dead letters of one reason that are shown and decided on at once; the later ones come next."""
BECAME: dict[str | None, str] = {
    "changed": "has changed",
    "forgotten": "was forgotten",
    "found wrong": "was found wrong",
    "found wrong by its check": "was found wrong by its check",
    None: "is gone, or not known",
}
"""Fate of the source of stale memories → end of their heading."""
STALE_SAID = {
    "grade": "Being graded, then shown again, hidden or left here",
    "keep": "Kept, and shown again",
    "confirm": "Confirmed",
    "forget": "Forgotten",
    "stale": "Stale again, so that somebody has to decide",
}
"""Decision on stale memories → what is said of those that it was carried out for."""
TRUST_SAID = {
    "trust": "{name} is trusted: what they bring in counts as proven.",
    "leave": "{name} stays unproven, until the grades of what they brought in prove them.",
    "undecided": "It is undecided again.",
}
QUESTION_SAID = {"ask": "An agent is asked.", "drop": "It is dropped.", "undecided": "It is undecided again."}


class NeedCard(NamedTuple):
    """A kind of need: what its filter is called, and the heading of its cards."""

    title: str
    heading: str


CARDS: dict[str, NeedCard] = {
    "conflict": NeedCard("Contradictions", "These two contradict each other"),
    "stale memory": NeedCard("Stale memories", "Written from what"),
    "recheck": NeedCard("To be checked", "Are these still right?"),
    "rubric": NeedCard("Rubrics to approve", "A rubric waits for approval"),
    "question": NeedCard("Questions to ask", "Shall an agent be asked this?"),
    "submitter": NeedCard("Unproven submitters", "A submitter is unproven"),
    "names": NeedCard("Names to merge", "Two names may mean one concept"),
    "duplicate": NeedCard("Near-duplicates", "These two are nearly the same"),
    "promotion": NeedCard("Promotions", "Shall others be shown this, too?"),
    "dead letter": NeedCard("Given up", "A task was given up"),
}
"""Kind → its card; what stands on it is the macro of that name in cards.html.j2."""
OPERATING = ("dead letter",)
"""Kinds for whoever runs memshare, after what a curator decides."""


@PAGES.screen(HERE)
def inbox(visit: Visit) -> Screen:
    """All that needs somebody, or of one kind."""
    found = needs(visit.backend, visit.caller, limit=500)
    counts = Counter(one.kind for one in found.needs)
    kind = visit.field("kind")
    shown = sorted((one for one in found.needs if kind in ("", one.kind)), key=lambda one: one.kind in OPERATING)
    return Screen(
        "inbox",
        {
            "needs": shown[:SHOWN],
            "total": found.total,
            "more": max(len(shown) - SHOWN, 0),
            "counts": counts,
            "kinds": CARDS,
            "operating": OPERATING,
            "became": BECAME,
            "at_once": AT_ONCE,
            "back": _here(visit),
            "pools": [one.name for one in visit.pools or () if one.memories > 1],
            "looked": {"map": [*visit.backend.concepts], "duplicates": [*visit.backend.duplicates]},
            "kind": kind,
            "missing": found.missing,
            "agents": agents(visit.backend, visit.caller) if counts["question"] else [],
            "agents_of": {one.name: one.agents for one in visit.pools or ()},
            "jobs": visit.jobs,
        },
    )


@PAGES.action("/inbox/conflict")
def settle_conflict(visit: Visit) -> Done:
    """Say of two memories which is right or that both are, or forget the one that is wrong."""
    one, other = visit.id("one"), visit.id("other")
    decision = visit.field("decision")
    if decision in ("forget one", "forget other"):
        wrong = one if decision == "forget one" else other
        text = _text(visit, wrong)
        forget(visit.backend, visit.caller, wrong)
        return Done(_here(visit), f"Forgotten: {text}", back_from_trash([wrong], _here(visit)))
    if decision == "undecided":
        decide(visit.backend, visit.caller, ConflictDecision(memories=(one, other), undecided=True))
        return Done(visit.back or _here(visit), "It is undecided again.")
    right = {"one is right": one, "other is right": other}.get(decision)
    form = ConflictDecision(memories=(one, other), contradict=right is not None, right=right)
    decide(visit.backend, visit.caller, form)
    said = "Both may be shown." if right is None else f"Of the two, this one alone is shown now: {_text(visit, right)}"
    undo = {"one": str(one), "other": str(other), "decision": "undecided", **visit.given("kind")}
    return Done(_here(visit), said, f"{HERE}/conflict?{urlencode(undo)}")


@PAGES.action("/inbox/duplicate")
def settle_duplicate(visit: Visit) -> Done:
    """Look for memories of a pool that are nearly the same, forget one of two, or say that both are wanted."""
    pool, do = visit.field("pool"), visit.field("decision")
    if do == "look":
        found = duplicates(visit.backend, visit.caller, pool)
        said = f"{counted(len(found.duplicates), 'pair')} of {counted(found.looked_at, 'memory', 'memories')}"
        said += " with a similarity of .95 or more, of their prompts, or of statements"
        if found.nearest:
            texts = [short(one.memory.prompt or one.memory.answer, 80) for one in found.nearest.memories]
            said += f"; the nearest pair has {found.nearest.cosine:.2f}: “{texts[0]}” / “{texts[1]}”"
        return Done(f"{HERE}?kind=duplicate", f"Nearly the same in the pool {pool}: {said}.")
    if do == "forget":
        forget(visit.backend, visit.caller, visit.id("memory"))
        return Done(_here(visit), "It was forgotten.", back_from_trash([visit.id("memory")], _here(visit)))
    if do in ("one is right", "other is right"):
        return settle_conflict(visit)
    two, different = (visit.id("one"), visit.id("other")), do != "undecided"
    say_different(visit.backend, visit.caller, pool, two, different)
    if not different:
        return Done(_here(visit), "It is undecided again.")
    undo = urlencode({**visit.given("pool", "one", "other", "kind"), "decision": "undecided"})
    return Done(_here(visit), "Both stay.", f"{HERE}/duplicate?{undo}")


@PAGES.action("/inbox/promotion")
def settle_promotion(visit: Visit) -> Done:
    """Promote a memory to the pool that it is proposed for, refuse that, or take either back."""
    done = visit.ask("The decision", promote, visit.id("memory"), **visit.given("decision"))
    said, gone = done.proposal.said, f"; in the trash: {len(done.forgotten)}" if done.forgotten else ""
    back = {"promoted": "take back", "refused": "undecided"}.get(said or "")
    undo = f"{HERE}/promotion?{urlencode({**visit.given('memory', 'kind'), 'decision': back})}" if back else ""
    return Done(visit.back or _here(visit), f"It is {said or 'undecided again'}{gone}.", undo)


@PAGES.action("/inbox/stale")
def settle_stale(visit: Visit) -> Done:
    """Have the chosen stale memories graded again, keep them, forget them, or take it back that they were kept."""
    ids, do = visit.ids("memory"), visit.field("decision")
    if not ids or do not in STALE_SAID:
        raise BadInput("Nothing was decided: tick the memories that you mean, then press a button.")
    done = [one for one in ids if _decided(visit, one, do)]
    some, lost = counted(len(done), "memory", "memories"), still_lost(visit.backend, done) if do == "keep" else ""
    undo = back_from_trash(done, _here(visit)) if do == "forget" else ""
    if do == "keep" and 0 < len(done) <= MOST_UNDONE:
        again = {"memory": ",".join(map(str, done)), "decision": "stale", **visit.given("kind")}
        undo = f"{HERE}/stale?{urlencode(again)}"
    return Done(visit.back or _here(visit), f"{'Kept' if lost else STALE_SAID[do]}: {some}.{lost}", undo)


def _decided(visit: Visit, memory_id: UUID, do: str) -> bool:
    """Do with a stale memory what was decided; False where somebody else was first, or it cannot be graded."""
    try:
        found = get(visit.backend, visit.caller, memory_id)
    except NotFound:
        return False
    if do == "grade":
        if found.memory.is_statement:
            return False
        grade(visit.backend, visit.caller, memory_id)
    elif do == "forget":
        forget(visit.backend, visit.caller, memory_id)
    else:
        status: Status = "stale" if do == "stale" else "active"
        if found.memory.status == status and do != "confirm":
            return False
        edit(visit.backend, visit.caller, memory_id, found.version, status=status)
    return True


@PAGES.action("/inbox/letter")
def settle_letter(visit: Visit) -> Done:
    """Put dead letters of one reason back into their queue, or drop them."""
    decision, letters = visit.field("decision"), visit.fields.getlist("letter")
    if decision not in ("drop", "retry") or not letters:
        raise BadInput("Nothing was decided: press a button of the card.")
    done = decide_letters(visit.backend, visit.caller, "drop" if decision == "drop" else "retry", letters)
    many = counted(len(done), "dead letter")
    if decision == "drop":
        return Done(_here(visit), f"Dropped: {many}. What was given up keeps the reason in its journey.")
    return Done(_here(visit), f"Back in the queue: {many}.")


@PAGES.action("/submitters/{pool:path}")
def settle_submitter(visit: Visit) -> Done:
    """Trust a submitter of a pool, leave them unproven, or take that back."""
    given = visit.given("submitter", "said")
    name = visit.ask("The decision", trust, visit.path["pool"], **given).name
    back, said = visit.back or HERE, given.get("said", "trust")
    query = urlencode({"submitter": name, "said": "undecided", "back": back})
    undo = f"/submitters/{quote(visit.path['pool'], safe='')}?{query}" if said != "undecided" else ""
    return Done(back, TRUST_SAID[said].format(name=name), undo)


@PAGES.action("/questions/{pool:path}")
def settle_question(visit: Visit) -> Done:
    """Have an agent asked a question of a pool, drop it, or take that back while it is not answered."""
    pool, back, journey = visit.path["pool"], visit.back or HERE, visit.field("journey")
    if journey and cancel(visit.backend, visit.caller, journey).outcome == "ended":
        return Done(back, "It was answered already: its journey says what came of it.")
    given = visit.given("question", "do", "agent")
    done = visit.ask("The decision", decide_question, pool, **given)
    query = {"question": done.id, "do": "undecided", "journey": done.journey or "", "back": back}
    undo = f"/questions/{quote(pool, safe='')}?{urlencode(query)}" if given["do"] != "undecided" else ""
    return Done(back, QUESTION_SAID[given["do"]], undo)


def _text(visit: Visit, memory_id: UUID) -> str:
    return short(get(visit.backend, visit.caller, memory_id).memory.answer, 100)


def _here(visit: Visit) -> str:
    return f"{HERE}?{urlencode({'kind': kind})}" if (kind := visit.field("kind")) in CARDS else HERE
