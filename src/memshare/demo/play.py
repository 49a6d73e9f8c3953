"""Plays the bundled tasks in rounds, so that later ones can use the answers of earlier ones; and asks questions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memshare.client.client import Client, ended_in_order
from memshare.client.journey import Journey
from memshare_memory.curate.requests import NewMemory

FOLDER = Path(__file__).parent
AGENT, PAGES = "reasoning", FOLDER / "pages"  # of the questions that take several steps
ROUND = 9  # one task of each kind
STALLED_AFTER = 600  # seconds in which nothing ends

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Played:
    """A task of the demo and its outcome. Memories are named after the task or seed they come from."""

    name: str
    task_id: str
    agent: str
    kind: str
    prompt: str
    answer: str | None
    model: str
    score: float | None
    accepted: bool
    shown: tuple[tuple[str, float], ...]
    fault: str | None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def read(name: str) -> list[dict[str, Any]]:
    """A bundled file of JSON lines."""
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def play(client: Client, progress: Progress) -> list[Played]:
    """Play all rounds: the first on an empty pool, then seeds are brought in, at the end the first again."""
    tasks, seeds = read("tasks.jsonl"), read("seeds.jsonl")
    rounds = [tasks[start : start + ROUND] for start in range(0, len(tasks), ROUND)]
    rounds.append(rounds[0])
    total = sum(map(len, rounds))
    pools = {name: card.pool for name, card in client.agents().items()}
    names: dict[str, str] = {}
    played: list[Played] = []
    for number, these in enumerate(rounds):
        what = "First round, no memories" if number == 0 else f"Round {number + 1} of {len(rounds)}"
        if number == 1:
            pairs = [NewMemory(**seed, pool=pools[seed["agent"]], submitter="seeds", new_pool=True) for seed in seeds]
            ids = client.memories.add(pairs)
            names |= {str(memory): f"seed {place}" for place, memory in enumerate(ids, 1)}
        again = number == len(rounds) - 1
        done = len(played)
        labels = [f"task {place}" + (" again" if again else "") for place in range(1 if again else done + 1, total + 1)]
        submitted = [client.submit(**task).id for task in these]
        for label, journey in zip(labels, ended_in_order(client, submitted, STALLED_AFTER), strict=False):
            if journey.memory_id and journey.outcome != "duplicate":
                names[str(journey.memory_id)] = label
            played.append(_played(label, journey, names))
            progress(what, len(played), total)
    return played


def _played(label: str, journey: Journey, names: dict[str, str]) -> Played:
    return Played(
        name=label,
        task_id=journey.task_id,
        agent=journey.agent,
        kind=journey.kind or "",
        prompt=journey.prompt,
        answer=journey.answer,
        model=journey.model or "none",
        score=journey.score.total if journey.score else None,
        accepted=bool(journey.score and journey.score.accepted),
        shown=tuple((names.get(str(one.id), str(one.id)), one.similarity) for one in journey.memories),
        fault=journey.dead.error if journey.dead else None,
    )


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
    """The machine-readable form of one question."""
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
