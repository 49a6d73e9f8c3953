"""Asks the reasoning agent about the bundled pages and facts, one question after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memshare.client.client import Client
from memshare.client.journey import Journey
from memshare.demo.play import STALLED_AFTER, Progress, read
from memshare_memory.curate.requests import NewMemory

AGENT = "reasoning"
PAGES = Path(__file__).parent / "pages"


def reason(client: Client, progress: Progress) -> list[Journey]:
    """The journeys of all questions; the facts are in the agent's pool before the first one."""
    questions, facts = read("questions.jsonl"), read("facts.jsonl")
    pool = client.agents()[AGENT].pool
    client.memories.add([NewMemory(**fact, pool=pool, submitter="seeds", new_pool=True) for fact in facts])
    journeys = []
    for place, question in enumerate(questions):
        progress("Questions", place, len(questions))
        task = client.submit(AGENT, **question)
        journeys.append(client.wait(task.id, STALLED_AFTER))
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
