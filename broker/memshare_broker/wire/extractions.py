"""The messages by which memories get their concepts: which memory is asked for, and what was found."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memshare_broker.wire.forms import Label
from memshare_broker.wire.messages import Message, PaidTask, Usage

Level = Literal["-1", "0", "1", "2", "3", "4"]
Concepts = dict[Level, Annotated[tuple[Label, ...], Field(max_length=30)]]
"""Names by level: -1 subjects, 0 the topic, 1 to 4 ever more general."""


class ExtractTask(PaidTask):
    """From the memory service to the concept worker: which concepts does a memory have?

    Its text is read from the pool when its turn comes.
    """

    memory_id: UUID


class Extracted(Message):
    """From the concept worker to the memory service: the concepts of a memory.

    `said` names the text that they are of, as `memshare_memory.memory.memory_id` does. Without concepts nobody
    was asked, for the memory is gone or has some already, or there is no model.
    """

    journey: str
    pool: Label
    memory_id: UUID
    said: UUID | None = None
    concepts: Concepts = Field(default={})
    model: str | None = None
    usage: Usage = Usage()


class NotedConcepts(Message):
    """What the memory service did with the concepts of a memory.

    "gone" is a memory that was forgotten meanwhile, "changed" one that says something else by now.
    """

    memory_id: UUID
    outcome: Literal["written", "known", "gone", "changed"]
