"""Dead letters: listed, put back into their queues, or dropped."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from memshare.client.replies import DeadLetterReply, Dropped, Retried
from memshare.doors import dead_letters
from memshare.doors.authentication import BackendNow, CallerNow
from memshare.doors.problems import RESPONSES

router = APIRouter(prefix="/dead-letters", tags=["dead letters"], responses=RESPONSES)

LetterId = Annotated[str, Path(min_length=1, max_length=200, description="the `id` that the list shows")]


@router.get("")
def get_dead_letters(backend: BackendNow, caller: CallerNow) -> list[DeadLetterReply]:
    """What was given up in your pools, oldest first; it takes the right `admin`."""
    return dead_letters.dead_letters(backend, caller)


@router.post("/{letter_id}/retry")
def retry_dead_letter(letter_id: LetterId, backend: BackendNow, caller: CallerNow) -> Retried:
    """Put a message back into its queue, under its old id; it takes the right `admin`."""
    return dead_letters.retry(backend, caller, letter_id)


@router.delete("/{letter_id}")
def delete_dead_letter(letter_id: LetterId, backend: BackendNow, caller: CallerNow) -> Dropped:
    """Drop a message for good; it takes the right `admin`."""
    return dead_letters.drop(backend, caller, letter_id)
