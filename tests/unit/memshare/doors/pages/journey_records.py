"""What the stages record of a journey, written without them, and what a page then says."""

from __future__ import annotations

import html
import re
from uuid import UUID

from memshare.operations.backend import Backend
from memshare_broker.delivery.schema import Entry
from memshare_broker.settings import OFFLINE
from memshare_broker.wire.grades import Score
from memshare_broker.wire.messages import AgentTask, Answer, Message, Shown, Usage

PROMPT = "When does the red lamp shine?"
MODEL = "openai:scripted"
AGENT = """
description = "Riddles."
instructions = "Be brief."
pool = "logic"
rubric = "logic"

[kinds.riddle]
instructions = "Rhyme."
"""


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def entry(journey: str, stage: str, agent: str = "logic") -> Entry:
    body = AgentTask(prompt=PROMPT, kind="riddle", submitter="ada").model_dump(mode="json", exclude_none=True)
    return Entry(
        id=journey if stage == "answer" else f"{journey}-{stage}", task=f"agents.{stage}", queue=agent, body=body,
        journey=journey, stage=stage, begins=stage == "answer",
    )  # fmt: skip


def record(backend: Backend, journey: str, stage: str, what: Message) -> None:
    backend.client.ledger.commit(entry(journey, stage), what.model_dump(mode="json"))


def answered(
    backend: Backend,
    *memories: str,
    journey: str = "t1",
    withheld: str | None = None,
    agent: str = "logic",
    text: str = "A light.",
) -> None:
    """A task that an agent has answered with these memories."""
    backend.client.ledger.open(entry(journey, "answer", agent))
    answer = Answer(
        task_id=journey, agent=agent, kind="riddle", answer=text, model=MODEL, retriever_version=0,
        memories=tuple(Shown(id=UUID(one), similarity=0.9) for one in memories),
        usage=Usage(prompt_tokens=1_000, completion_tokens=100), seconds=0.1,
        withheld=Shown(id=UUID(withheld), similarity=0.8) if withheld else None,
    )  # fmt: skip
    record(backend, journey, "answer", answer)


def unanswered(backend: Backend, journey: str = "t1") -> None:
    """A task to an agent without a model, to which no memory is near enough."""
    far = Answer(
        task_id=journey, agent="logic", kind="riddle", answer="Nothing near enough (nearest: 0.12).", model=OFFLINE,
        retriever_version=0, memories=(), usage=Usage(), seconds=0.1, verified=False,
    )  # fmt: skip
    backend.client.ledger.open(entry(journey, "answer"))
    record(backend, journey, "answer", far)


def graded(backend: Backend, journey: str, total: float, model: str = MODEL, version: str = "v1") -> None:
    score = Score(
        total=total, threshold=81, accepted=total >= 81, criteria={}, rubric="logic", rubric_version=version,
        model=model, usage=Usage(prompt_tokens=500),
    )  # fmt: skip
    record(backend, journey, "score", score)
