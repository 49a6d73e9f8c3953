"""Requests to the doors, as frozen models that refuse unknown fields."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field, JsonValue, StringConstraints, model_validator

from memshare_broker.wire.forms import Label, Share, Written
from memshare_broker.wire.messages import MAX_MEMORIES, USUAL_PRIORITY, AgentTask, Message, Name, Priority, Turn
from memshare_memory.curate.requests import GivenMemory
from memshare_memory.door.messages import Conditions
from memshare_memory.memory import Mode, Status
from memshare_memory.stores.store import MOST_ORDERED, SortKey

LONGEST_KEY = 200  # characters of an idempotency key
Key = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_KEY, pattern=r"^[!-~]+$")]
"""A key of the client's own: the same request with the same key is done once."""


def example(**fields: JsonValue) -> ConfigDict:
    """The configuration of a form with an example for the documentation."""
    return ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, json_schema_extra={"examples": [fields]})


class Asked(Message):
    """A task, as a prompt or as a conversation that ends with it."""

    prompt: str | None = Field(
        default=None, min_length=1, description="in words that stand alone; a follow-up comes as `messages`"
    )
    messages: tuple[Turn, ...] | None = Field(default=None, min_length=1, description="ends with a turn of the user")

    @model_validator(mode="after")
    def _one_task(self) -> Asked:
        AgentTask(prompt=self.prompt, messages=self.messages)
        return self

    @property
    def text(self) -> str:
        """The task as one text."""
        return AgentTask(prompt=self.prompt, messages=self.messages).text


class Filters(Conditions):
    """Which memories count: all conditions must hold."""

    not_shown: tuple[UUID, ...] = Field(default=(), max_length=100, description="left out")


class RecallForm(Asked):
    """Which memories to show with a task: name an agent, or a pool."""

    model_config = example(agent="logic", prompt="What has keys and opens no door?", k=3)

    agent: Label | None = None
    pool: Label | None = None
    k: int = Field(default=3, ge=0, le=MAX_MEMORIES)
    mode: Mode = "dense"
    filters: Filters = Filters()
    format: Literal["memories", "messages"] = Field(
        default="memories", description='"messages" adds turns, ready to put directly before the task'
    )


class OfferForm(Asked):
    """An answer of yours, to be graded and shared: name the agent whose tasks it is one of, or its pool."""

    model_config = example(
        agent="logic", kind="riddle", prompt="What has keys and opens no door?", answer="A piano.", model="my-model"
    )

    agent: Label | None = None
    pool: Label | None = None
    kind: Label | None = None
    answer: Written
    model: Label | None = None
    recall_id: UUID | None = Field(default=None, description="the recall whose memories helped: they are credited")
    idempotency_key: Key | None = None


class FeedbackForm(Message):
    """How it went: one reward for all memories that were shown, or one for each. 0 is useless, 1 as good as can be."""

    model_config = example(recall_id="5b2f3c1e-6c0c-4f2e-9a36-5f0f3f3f6f10", reward=1.0)

    journey: str | None = Field(default=None, min_length=1, max_length=200)
    recall_id: UUID | None = None
    reward: Share | None = None
    memories: dict[UUID, Share] | None = Field(default=None, min_length=1, max_length=MAX_MEMORIES)

    @model_validator(mode="after")
    def _one_of_each(self) -> FeedbackForm:
        if (self.journey is None) == (self.recall_id is None):
            raise ValueError("give a 'journey' or a 'recall_id': one of the two")
        if (self.reward is None) == (self.memories is None):
            raise ValueError("give a 'reward', or a reward for each of 'memories': one of the two")
        return self


class TaskForm(Asked):
    """A task for an agent of memshare."""

    model_config = example(agent="poem", kind="limerick", prompt="A limerick about a lighthouse")

    agent: Name
    kind: Label | None = None
    memories: int | None = Field(default=None, ge=0, le=MAX_MEMORIES, description="how many are shown")
    remember: bool = True
    priority: Priority = Field(default=USUAL_PRIORITY, description="0 goes first")
    idempotency_key: Key | None = None


class SearchForm(Conditions):
    """The k memories nearest to a text, whatever has become of them."""

    model_config = example(text="musical instruments", pool="logic", k=5)

    text: Written
    pool: Label | None = None
    k: int = Field(default=10, ge=1, le=100)
    mode: Mode = "dense"
    status: Status | None = None


class PageForm(Conditions):
    """Some memories in the order of their ids, or the first ones in another order."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    pool: Label | None = None
    status: Status | None = None
    limit: int = Field(default=50, ge=1, le=500)
    cursor: UUID | None = Field(default=None, description="`next` of the page before; not with an order")
    order: SortKey | None = Field(default=None, description="the highest first; the next page is by `skip` then")
    ascending: bool = Field(default=False, description="the lowest first")
    skip: int = Field(default=0, ge=0, lt=MOST_ORDERED, description="how many are left out first; with an order")
    parent: UUID | None = Field(default=None, description="only what was written with this memory in sight")


class CountForm(Conditions):
    """Which memories are counted."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    pool: Label | None = None
    status: Status | None = None


class MemoryForm(GivenMemory):
    """A memory that a person brings in, trusted as it is; without a prompt it is a statement."""

    model_config = example(pool="plan", answer="The ferry to Norderney takes dogs.")


class ImportForm(Message):
    """Memories as lines of JSON; `pool` is that of lines that name none."""

    model_config = example(
        lines='{"prompt": "What has hands and claps for nobody?", "answer": "A clock."}', pool="logic"
    )

    lines: str = Field(min_length=1)
    pool: Name | None = None
    new_pool: bool = Field(default=False, description="whether pools may begin that nobody has yet")
    dry_run: bool = Field(default=False, description="only say what would be brought in, and what is refused")


class EditForm(Message):
    """Changes to a memory; a field that is left out stays as it is."""

    model_config = example(answer="The ferry to Norderney takes dogs on a lead.")

    prompt: Written | None = None
    answer: Written | None = None
    status: Status | None = None

    @model_validator(mode="after")
    def _something(self) -> EditForm:
        if self.prompt is self.answer is self.status is None:
            raise ValueError("say what to change: 'prompt', 'answer' or 'status'")
        return self
