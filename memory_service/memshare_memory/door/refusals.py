"""What the door answers in place of a reply: a status, and in JSON the kind of error, what to do, and when."""

from __future__ import annotations

from starlette.responses import Response

from memshare_broker.errors import BadInput, GiveUp, TryAgain
from memshare_memory.door.messages import Refusal


def refused(status: int, error: Exception) -> Response:
    """An error as a response."""
    kind = "bad input" if isinstance(error, BadInput) else "give up" if isinstance(error, GiveUp) else "try again"
    refusal = Refusal(kind=kind, error=str(error), wait=getattr(error, "wait", None))
    return Response(refusal.model_dump_json(), status, media_type="application/json")


def refused_by_bounds(status: int, detail: str) -> Response:
    """What a connection is told whose request was not taken: what was too slow, or one too many, may come again."""
    return refused(status, TryAgain(detail) if status in (408, 503) else BadInput(detail))
