"""Asks the reasoning agent about the bundled pages and facts, one question after the other."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from memshare.broker.errors import Unreachable
from memshare.client import Client
from memshare.demo.play import STALLED_AFTER, Progress, read
from memshare.journey import Journey
from memshare.memory_service.curate.requests import NewMemory

AGENT = "reasoning"
PAGES = Path(__file__).parent / "pages"


def reason(client: Client, progress: Progress) -> list[Journey]:
    """The journeys of all questions; the facts are in the agent's pool before the first one."""
    questions, facts = read("questions.jsonl"), read("facts.jsonl")
    pool = client.agents()[AGENT].pool
    client.memories.add([NewMemory(**fact, pool=pool, submitter="seeds") for fact in facts])
    journeys = []
    for place, question in enumerate(questions):
        progress("Questions", place, len(questions))
        task = client.submit(AGENT, **question)
        journeys.append(_ended(client, task.id))
    return journeys


def as_json(journey: Journey) -> dict[str, Any]:
    """What a machine reads of one question."""
    return {
        "task_id": journey.task_id,
        "question": journey.prompt,
        "answer": journey.answer,
        "verified": bool(journey.verified),
        "score": journey.score.total if journey.score else None,
        "accepted": bool(journey.score and journey.score.accepted),
        "memories": [one.model_dump(mode="json") for one in journey.memories],
        "steps": [step.model_dump(mode="json") for step in journey.steps],
        "fault": journey.dead.error if journey.dead else None,
    }


def _ended(client: Client, task_id: str) -> Journey:
    deadline = time.monotonic() + STALLED_AFTER
    while time.monotonic() < deadline:
        journey = client.journey(task_id)
        if journey.state in ("settled", "dead") or journey.verified is False:
            return journey
        time.sleep(0.05)
    raise Unreachable(f"The question was not answered within {STALLED_AFTER} s; the worker's log says more.")
