"""The three calls: recall, offer, feedback; and tasks for memshare's own agents."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header

from memshare.client.replies import Accepted, FeedbackTaken, Recalled
from memshare.doors.authentication import BackendNow, CallerNow
from memshare.doors.feedback import give_feedback
from memshare.doors.forms import FeedbackForm, Key, OfferForm, RecallForm, TaskForm
from memshare.doors.offering import offer
from memshare.doors.problems import RESPONSES
from memshare.doors.recall import recall
from memshare.doors.submitting import submit

router = APIRouter(tags=["sharing"], responses=RESPONSES)

IdempotencyKey = Annotated[
    Key | None, Header(alias="Idempotency-Key", description="in place of the field of the same name")
]


@router.post("/recall")
def post_recall(form: RecallForm, backend: BackendNow, caller: CallerNow) -> Recalled:
    """The memories to show with a task, best first, and a `recall_id` for what comes after."""
    return recall(backend, caller, form)


@router.post("/pairs", status_code=202)
def post_pair(form: OfferForm, backend: BackendNow, caller: CallerNow, key: IdempotencyKey = None) -> Accepted:
    """Offer an answer: it is graded, and becomes a memory where it is good enough. After a 202 it is not lost."""
    return offer(backend, caller, form if key is None else form.model_copy(update={"idempotency_key": key}))


@router.post("/feedback", status_code=202)
def post_feedback(form: FeedbackForm, backend: BackendNow, caller: CallerNow) -> FeedbackTaken:
    """Tell what the memories that were shown were worth. Each is told once; the first word stands."""
    return give_feedback(backend, caller, form)


@router.post("/tasks", status_code=202)
def post_task(form: TaskForm, backend: BackendNow, caller: CallerNow, key: IdempotencyKey = None) -> Accepted:
    """Give a task to an agent of memshare; its journey has the answer."""
    return submit(backend, caller, form if key is None else form.model_copy(update={"idempotency_key": key}))
