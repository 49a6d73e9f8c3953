"""Memories as data to train a model with: conversations, or preferences between answers to the same prompt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple
from uuid import UUID

from memshare.client.journey import read_journey
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import turns_of
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import SearchRequest
from memshare_memory.memory import Memory, said
from memshare_memory.stores.store import Where

Format = Literal["messages", "sharegpt", "preference"]
Line = dict[str, Any]

MOST_JOURNEYS = 10_000_000  # all that a Redis can hold

NAMES = {"user": "human", "assistant": "gpt"}  # of roles, in ShareGPT's form


class RejectedAnswer(NamedTuple):
    """An answer that was graded below its threshold, or that could not be verified."""

    task_id: str
    pool: str
    prompt: str
    answer: str
    score: float | None


SAME_QUESTION = 0.9  # cosine of two prompts that say the same
LOOKED_AT = 12  # memories, the nearest ones to a prompt that was answered badly


def as_messages(memory: Memory) -> list[Line]:
    """A line in the chat form: `{"messages": [{"role", "content"}, …]}`, which ends with the answer."""
    turns = [{"role": role, "content": content} for role, content in _turns(memory)]
    return [{"messages": turns, "memory_id": str(memory.id)}]


def as_sharegpt(memory: Memory) -> list[Line]:
    """A line in ShareGPT's form: `{"conversations": [{"from", "value"}, …]}`, which ends with the answer."""
    turns = [{"from": NAMES[role], "value": content} for role, content in _turns(memory)]
    return [{"conversations": turns, "memory_id": str(memory.id)}]


FORMS: dict[str, Callable[[Memory], Iterable[Line]]] = {"messages": as_messages, "sharegpt": as_sharegpt}


class Preferences:
    """Pairs accepted answers with rejected ones of prompts that say the same, as turns.

    A line is `{"prompt", "chosen", "rejected", …}`, with the prompt of the accepted one.
    """

    def __init__(self, rejected: Iterable[RejectedAnswer], memories: MemoryClient) -> None:
        self._of: defaultdict[UUID, list[RejectedAnswer]] = defaultdict(list)
        for one in rejected:
            wanted = SearchRequest(text=one.prompt, k=LOOKED_AT, where=Where(pool=one.pool))
            near = [each.memory for each in memories.search(wanted) if each.similarity >= SAME_QUESTION]
            same = [each.id for each in near if said(each.answer) == said(one.answer)]
            right = {each for known in memories.judge(same) for each in known.both_right}
            for memory in near:
                if memory.id not in right:
                    self._of[memory.id].append(one)

    def of(self, memory: Memory) -> Iterable[Line]:
        """A line for each rejected answer to what says the same as a memory's prompt.

        None is the memory's answer, nor one that a person found right beside that.
        """
        *asked, answered = _turns(memory)
        for one in self._of.get(memory.id, ()):
            if said(one.answer) != said(memory.answer):
                yield {
                    "prompt": [{"role": role, "content": content} for role, content in asked],
                    "chosen": [{"role": answered[0], "content": answered[1]}],
                    "rejected": [{"role": "assistant", "content": one.answer}],
                    "chosen_score": memory.score,
                    "rejected_score": one.score,
                    "memory_id": str(memory.id),
                    "rejected_prompt": one.prompt,
                    "rejected_task_id": one.task_id,
                }


def rejected_answers(ledger: Ledger, pool_of_agent: dict[str, str], pool: str | None) -> Iterator[RejectedAnswer]:
    """The rejected answers of a pool, or of all, as far as traces are still kept; it looks at every journey."""
    for task_id in ledger.journeys("", MOST_JOURNEYS):
        try:
            journey = read_journey(ledger, task_id)
        except BadInput:
            continue  # it ended its days between two looks
        rejected = journey.verified is False or (journey.score is not None and not journey.score.accepted)
        own = journey.pool or pool_of_agent.get(journey.agent)
        if journey.answer is None or not rejected or own is None or pool not in (None, own) or journey.trial:
            continue
        score = journey.score.total if journey.score else None
        yield RejectedAnswer(task_id, own, journey.prompt, journey.answer, score)


def _turns(memory: Memory) -> list[tuple[str, str]]:
    return [*turns_of(memory.prompt or ""), ("assistant", memory.answer)]
