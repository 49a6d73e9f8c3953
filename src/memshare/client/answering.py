"""Answers a question from the memories of a pool, for the command line and for REST alike."""

from __future__ import annotations

import time
from contextlib import closing

from memshare.client.paid_chat import paid_chat
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput
from memshare_broker.observe.plain_text import plain
from memshare_broker.settings import OFFLINE, Settings
from memshare_concepts.answering import Answered, answer
from memshare_concepts.gaps.open_questions import OpenQuestions
from memshare_llm.no_model import NONE_SET
from memshare_memory.door.client import MemoryClient
from memshare_memory.door.messages import Found, RecallRequest

LONGEST_WANTED = 200  # characters of a question that are noted with those that it left open


def answer_from(
    settings: Settings, question: str, pool: str, memories: int, *, only_memories: bool, payer: str
) -> tuple[Answered, tuple[Found, ...]]:
    """The answer, and the memories that it could rest on; what it leaves open becomes gaps of the pool.

    Without a model it is the nearest memory's. Raises `BadInput` for a question that is blank or too long.
    """
    limit = settings.prompt_limit
    if not question.strip() or len(question) > limit:
        raise BadInput(f"A question has 1 to {limit:,} characters that are not all blank; this has {len(question):,}.")
    with closing(MemoryClient(settings)) as memory, connect(settings.redis) as client:
        recalled = memory.recall(RecallRequest(pool=pool, text=question, k=memories, mode="hybrid", new_pool=True))
        if settings.model_for("agents") == OFFLINE:
            if (nearest := recalled.nearest) is None:
                raise BadInput(f"Pool {pool!r} has no memory to show. {NONE_SET}")
            cites = ((nearest.memory, "It is the nearest. No model has read it."),)
            return Answered(nearest.memory.answer, cites, "", (), OFFLINE), recalled.found
        with paid_chat(settings, "agents", payer) as chat:
            related = [one.memory for one in reversed(recalled.found)]
            answered = answer(chat, question, related, only_memories=only_memories)
        wanted = " ".join(plain(question).split())[:LONGEST_WANTED]
        OpenQuestions(client, pool).add(answered.questions, wanted, time.time())
    return answered, recalled.found
