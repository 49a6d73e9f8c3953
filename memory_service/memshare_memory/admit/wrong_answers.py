"""Answers that a person called wrong: until that is taken back, the same answer to a like prompt is not admitted."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import redis

from memshare_broker.wire.forms import Label
from memshare_broker.wire.messages import Message
from memshare_memory.memory import saying
from memshare_memory.stores.bm25 import tokens

WRONG_ANSWERS = "memshare:wrong_answers"
"""Hash: what an answer says, and the memory that it is or would be → the `WrongAnswer`."""
SAME_PROMPT = 0.98  # cosine of the prompts of an answer of few words, such as "No." …
LIKE_PROMPT = 0.7  # … and of one that says by itself what it is about
FEW_WORDS = 4


class WrongAnswer(Message):
    """The prompt of an answer that was called wrong, whose task it was, and the memory that it is or would be.

    Without `curated` only whoever gave the task has said so: it counts for their own tasks.
    """

    memory: UUID
    pool: Label
    prompt: str
    submitter: Label
    curated: bool


def least_alike(answer: str, *, by_program: bool = False) -> float:
    """The cosine of two prompts from which on the same answer says the same to both; a program tells them apart."""
    return SAME_PROMPT if by_program or len(tokens(answer)) <= FEW_WORDS else LIKE_PROMPT


def note_wrong(client: redis.Redis, answer: str, wrong: WrongAnswer) -> None:
    """Keep an answer from being admitted again."""
    client.hset(WRONG_ANSWERS, f"{saying(answer)} {wrong.memory}", wrong.model_dump_json())


def no_longer_wrong(client: redis.Redis, answer: str, memory: UUID) -> None:
    """Let it be admitted again."""
    client.hdel(WRONG_ANSWERS, f"{saying(answer)} {memory}")


def wrong_prompts(client: redis.Redis, pool: str, answer: str, submitter: str) -> Iterator[str]:
    """The prompts for which an answer was called wrong, as far as that counts for this submitter's tasks."""
    for _, text in client.hscan_iter(WRONG_ANSWERS, match=f"{saying(answer)} *", count=1_000):
        wrong = WrongAnswer.model_validate_json(text)
        if wrong.pool == pool and (wrong.curated or wrong.submitter == submitter):
            yield wrong.prompt
