"""Reads what `memshare serve` answered: a reply, or the error that it names."""

from __future__ import annotations

import json
from typing import Any, cast

from memshare.client.errors import STATUSES
from memshare.client.rest.call import BUSY, Call, HttpResponse, NoResponse, Reply
from memshare_broker.errors import BadInput, MemshareError, TryAgain, Unreachable

ERRORS: dict[int, type[MemshareError]] = {status: kind for kind, status in STATUSES if status not in BUSY}


def read(call: Call[Reply], answer: HttpResponse | NoResponse, address: str) -> Reply:
    """The reply that an answer holds; raises what it refuses."""
    if isinstance(answer, NoResponse):
        raise Unreachable(
            f"Nothing answers at {address} ({answer.error or type(answer.error).__name__}). "
            "Start `memshare serve` there, or name another address."
        ) from answer.error
    if answer.status >= 300:
        raise _refusal(answer, address)
    from pydantic import TypeAdapter, ValidationError  # the models cost more to import than the rest of the client

    try:
        # What a newer server says besides is left out.
        found: Any = TypeAdapter(call.reply).validate_json(answer.body, extra="ignore")
    except ValidationError as error:
        raise Unreachable(f"The server at {address} is not a `memshare serve` of this version.") from error
    return cast(Reply, found)


def _refusal(answer: HttpResponse, address: str) -> MemshareError:
    try:
        problem: Any = json.loads(answer.body)
        detail = str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        return Unreachable(
            f"The server at {address} answered with status {answer.status}: it is not a `memshare serve`."
        )
    if answer.status in BUSY:
        return TryAgain(detail, wait=answer.wait)
    return ERRORS.get(answer.status, BadInput if answer.status < 500 else MemshareError)(detail)
