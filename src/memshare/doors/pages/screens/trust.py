"""Trust: what a person says of a submitter, from the inbox or from a memory."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from memshare.doors.calls.submitters import TrustForm, trust
from memshare.doors.pages.visit import PAGES, Done, Visit
from memshare_broker.wire.checking import checked

SAID = {
    "trust": "{name} is trusted: what they bring in counts as proven.",
    "leave": "{name} stays unproven, until the grades of what they brought in prove them.",
    "undecided": "It is undecided again.",
}


@PAGES.action("/submitters/{pool}")
def say(visit: Visit) -> Done:
    """Trust a submitter of a pool, leave them unproven, or take that back."""
    form = checked(TrustForm, "The decision", **visit.given("submitter", "said"))
    trust(visit.backend, visit.caller, visit.path["pool"], form)
    back = visit.own_page("back") or "/inbox"
    query = urlencode({"submitter": form.submitter, "said": "undecided", "back": back})
    undo = f"/submitters/{quote(visit.path['pool'], safe='')}?{query}" if form.said != "undecided" else ""
    return Done(back, SAID[form.said].format(name=form.submitter), undo)
