"""Brings the flashcards into a pool with their concepts, and fills a gap that they leave with one new memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

import redis

from memshare.client.answering import paid_chat
from memshare.client.client import Client
from memshare.client.journey import Journey
from memshare.demo.play import Progress
from memshare.files.new_file import new_file
from memshare_concepts.clusters import SIZE, Cluster, Clusters
from memshare_concepts.flashcards import flashcard_memories
from memshare_concepts.gaps import find_gaps
from memshare_concepts.map.page import Colours, clusters_around, map_page
from memshare_concepts.open_questions import Gap, WantedQuestions
from memshare_concepts.pool_graph import PoolConcepts, encode, load
from memshare_concepts.proposing import Proposer, of_clusters
from memshare_memory.memory import Memory

POOL = AGENT = "flashcards"
AGENTS = Path(__file__).parent / "agents"
QUESTIONS = 8
"""Written for the cluster; they are asked one by one, until an answer is good enough to be remembered."""

SETTLED_WITHIN = 60.0
NAMED_WITHIN = 45.0
"""Seconds for a question, and for the concepts of the new memory."""

_STEPS = 5
_AT_ONCE = 64  # flashcards


@dataclass(frozen=True)
class ExploredFlashcards:
    """Findings and actions of the demo."""

    cards: int
    map_file: Path
    cluster: Cluster
    gap: Gap
    asked: tuple[Journey, ...]
    memory: Memory | None
    """The memory made of the last answer; None where no answer was good enough."""


def explore_flashcards(
    client: Client, redis_client: redis.Redis, map_file: Path, progress: Progress
) -> ExploredFlashcards:
    """Bring the cards in, draw the map, find a cluster and a gap, and ask until an answer is remembered."""
    cards = flashcard_memories(POOL)
    for start in range(0, len(cards), _AT_ONCE):
        progress("Flashcards", start, len(cards))
        client.memories.restore(cards[start : start + _AT_ONCE])
    progress("Clusters", 1, _STEPS)
    concepts = load(client.memories, redis_client, POOL, vectors=True)
    by_size = clusters_around(concepts, client.settings.data, SIZE)
    clusters = by_size[SIZE]
    progress("Map", 2, _STEPS)
    with new_file(map_file) as file:
        _draw(client, concepts, by_size, file)
    progress("Gaps", 3, _STEPS)
    gap = find_gaps(
        concepts.graph, clusters, concepts.ids, concepts.vectors, lambda names: encode(client.memories, names)
    )[0]
    cluster = max(clusters.levels()[-1], key=lambda one: len(one.memories))
    asked, memory = _ask(client, concepts, cluster, lambda what: progress(what, 4, _STEPS))
    return ExploredFlashcards(len(cards), map_file, cluster, gap, tuple(asked), memory)


def _draw(client: Client, concepts: PoolConcepts, by_size: Mapping[int, Clusters], file: TextIO) -> None:
    judged = client.memories.judge(concepts.ids)
    colours = Colours({one.memory.id: one.credibility.p for one in judged})
    file.writelines(map_page(concepts, by_size, SIZE, colours, datetime.now(UTC)))


def _ask(
    client: Client, concepts: PoolConcepts, cluster: Cluster, progress: Callable[[str], None]
) -> tuple[list[Journey], Memory | None]:
    """New questions on a cluster, until the answer to one is remembered."""
    target = of_clusters(concepts.graph, [cluster])
    progress("A new question")
    with paid_chat(client.settings, "agents", "demo") as chat:
        proposer = Proposer(chat, client.memories, POOL)
        proposals = proposer.propose(WantedQuestions(target=target, count=QUESTIONS), concepts.memories)
    asked: list[Journey] = []
    for number, one in enumerate(proposals, 1):
        progress(f"Question {number}")
        task = client.submit(AGENT, one.question, submitter="demo")
        asked.append(client.wait(task.id, SETTLED_WITHIN))
        if asked[-1].memory_id is not None and asked[-1].outcome in ("stored", "replaced"):
            return asked, _with_concepts(client, asked[-1])
    return asked, None


def _with_concepts(client: Client, journey: Journey) -> Memory:
    """The new memory, with its concepts where they are named soon."""
    assert journey.memory_id is not None
    deadline = time.monotonic() + (NAMED_WITHIN if client.settings.concepts else 0)
    while not (memory := client.memories.get(journey.memory_id)).concepts and time.monotonic() < deadline:
        time.sleep(0.1)
    return memory
