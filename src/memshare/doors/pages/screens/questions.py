"""Questions: an agent is asked one, or it is dropped, from the inbox."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from memshare.doors.calls.journeys import cancel
from memshare.doors.calls.questions import QuestionDecision, decide
from memshare.doors.pages.visit import PAGES, Done, Visit
from memshare_broker.wire.checking import checked

SAID = {"ask": "An agent is asked.", "drop": "It is dropped.", "undecided": "It is undecided again."}


@PAGES.action("/questions/{pool}")
def settle(visit: Visit) -> Done:
    """Have an agent asked a question of a pool, drop it, or take that back while it is not answered."""
    pool, back, journey = visit.path["pool"], visit.own_page("back") or "/inbox", visit.field("journey")
    if journey and cancel(visit.backend, visit.caller, journey).outcome == "ended":
        return Done(back, "It was answered already: its journey says what came of it.")
    form = checked(QuestionDecision, "The decision", **visit.given("question", "do", "agent"))
    done = decide(visit.backend, visit.caller, pool, form)
    query = {"question": form.question, "do": "undecided", "journey": done.journey or "", "back": back}
    undo = f"/questions/{quote(pool, safe='')}?{urlencode(query)}" if form.do != "undecided" else ""
    return Done(back, SAID[form.do], undo)
