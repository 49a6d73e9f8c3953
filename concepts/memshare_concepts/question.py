"""The concepts of a question, named as those of memories are, and the memories that it has concepts in common with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID, uuid4

import redis
from pydantic import TypeAdapter

from memshare_broker.wire.lessons import Concepts
from memshare_concepts.extraction import EXAMPLES, extract, stored
from memshare_llm.chat import Chat
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import Found, RecallRequest, SearchRequest
from memshare_memory.memory import Memory, saying
from memshare_memory.people import QUESTION_CONCEPTS
from memshare_memory.stores.store import Where

KEEP_SECONDS = 7 * 86_400

BY_CONCEPTS = 4  # of this number of memories, a single memory may be found by concepts

_CONCEPTS = TypeAdapter(Concepts)


class QuestionConcepts:
    """The concepts of questions to one pool, kept in Redis for a week. The questions themselves are not."""

    def __init__(self, client: redis.Redis, pool: str) -> None:
        self._client = client
        self._pool = pool

    def read(self, question: str) -> Concepts | None:
        """The named concepts of a question; None where nobody has asked it, or only long ago."""
        text = self._client.get(self._key(question))
        return _CONCEPTS.validate_json(text) if text else None

    def name(self, chat: Chat, question: str, found: Sequence[Found]) -> Concepts:
        """Name them by one call; the first of the memories found that have concepts are its examples.

        Raises whatever `memshare_llm.structured.ask` raises.
        """
        text = Memory(id=uuid4(), pool=self._pool, prompt=None, answer=question, created=0)
        examples = [hit.memory for hit in found if hit.memory.concepts][:EXAMPLES]
        [hierarchy] = extract(chat, [text], examples).hierarchies
        concepts = stored(hierarchy)
        self._client.set(self._key(question), _CONCEPTS.dump_json(concepts), ex=KEEP_SECONDS)
        return concepts

    def _key(self, question: str) -> str:
        return f"{QUESTION_CONCEPTS}{self._pool}:{saying(question)}"


class Related(NamedTuple):
    """The memories found for a question, the best first, with its concepts where they were named.

    `brought` are those that its concepts brought: id → the concepts that both have.
    """

    found: tuple[Found, ...]
    concepts: Concepts
    brought: Mapping[UUID, tuple[str, ...]]


def with_related(
    memory: MemoryClient,
    pool: str,
    question: str,
    found: Sequence[Found],
    concepts: Concepts,
    key: Callable[[str], str],
) -> Related:
    """The memories found for a question, the best first, with those that have more of its concepts in the last places.

    One in `BY_CONCEPTS` may give its place to such a one. `key` says which names are one concept. General concepts do
    not count, as many memories have them.
    """
    wanted = _subjects(concepts, key)

    def shared(hit: Found) -> tuple[str, ...]:
        has = _subjects(hit.memory.concepts, key)
        return tuple(name for concept, name in wanted.items() if concept in has)

    names = ", ".join(name for level in ("0", "-1") for name in concepts.get(level, ()))
    others = Where(ids_not=[hit.memory.id for hit in found])
    by_name = memory.recall(RecallRequest(pool=pool, text=names, k=len(found), mode="hybrid", among=others)).found
    last = len(found) - len(found) // BY_CONCEPTS
    ranked = sorted((*found[last:], *by_name), key=lambda hit: -len(shared(hit)))  # of equals as it was
    best = ranked[: len(found) - last]
    asked = SearchRequest(text=question, k=len(found), where=Where(ids=[hit.memory.id for hit in best]))
    similarity = {hit.memory.id: hit.similarity for hit in memory.search(asked)}  # without what was forgotten meanwhile
    there = [hit for hit in best if hit.memory.id in similarity]
    brought = {hit.memory.id: shared(hit) for hit in there if hit in by_name}
    moved = (hit.model_copy(update={"similarity": similarity[hit.memory.id]}) for hit in there)
    return Related((*found[:last], *moved), concepts, brought)


def _subjects(concepts: Concepts, key: Callable[[str], str]) -> dict[str, str]:
    return {key(name): name for level in ("-1", "0") for name in concepts.get(level, ())}
