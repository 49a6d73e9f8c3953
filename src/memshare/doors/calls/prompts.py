"""The prompt of a task, as its agent sent it."""

from __future__ import annotations

from memshare.client.rest.calls.journeys import Journeys, PromptReply
from memshare.client.sent_prompt import sent_prompt
from memshare.doors.authentication import BackendNow, CallerNow
from memshare.doors.calls.journeys import JourneyId, seen_journey
from memshare.doors.serving import serves


@serves(Journeys.prompt)
def prompt(backend: BackendNow, caller: CallerNow, journey_id: JourneyId) -> PromptReply:
    """The turns of the prompt; raises `BadInput` where no model was sent one prompt."""
    caller.require("recall")
    found = sent_prompt(backend.client, seen_journey(backend, caller, journey_id))
    return PromptReply(turns=found.turns, changed=found.changed)
