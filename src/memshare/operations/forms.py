"""The forms of what operations are asked: fields that several have, and conditions on memories."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field, JsonValue, StringConstraints

from memshare.client.rest.calls.memories import ListedStatus
from memshare_broker.wire.forms import InWords, Label, Written
from memshare_broker.wire.messages import MAX_MEMORIES, Turn
from memshare_memory.curate.requests import GivenMemory
from memshare_memory.door.messages import Conditions
from memshare_memory.memory import Mode
from memshare_memory.stores.store import MOST_ORDERED, SortKey

LONGEST_KEY = 200  # characters of an idempotency key
Key = Annotated[
    str,
    StringConstraints(min_length=1, max_length=LONGEST_KEY, pattern=r"^[!-~]+$"),
    InWords(f"1 to {LONGEST_KEY} letters, digits and other signs of ASCII, without a space"),
]
"""A key of the client's own: the same request with the same key is done once."""


Prompt = Annotated[
    str | None, Field(min_length=1, description="in words that stand alone; a follow-up comes as `messages`")
]
Turns = Annotated[tuple[Turn, ...] | None, Field(min_length=1, description="ends with a turn of the user")]
"""A task, as a prompt or as a conversation that ends with it: one of the two."""
MemoriesShown = Annotated[int | None, Field(ge=0, le=MAX_MEMORIES, description="how many are shown")]


def example(**fields: JsonValue) -> ConfigDict:
    """The configuration of a form with an example for the documentation."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


class Filters(Conditions):
    """Which memories count: all conditions must hold."""

    not_shown: tuple[UUID, ...] = Field(default=(), max_length=100, description="left out")


class SearchForm(Conditions):
    """The k memories nearest to a text, whatever has become of them."""

    model_config = example(text="musical instruments", pool="logic", k=5)

    text: Written
    pool: Label | None = None
    k: int = Field(default=10, ge=1, le=100)
    mode: Mode = "dense"
    status: ListedStatus | None = None


class CountForm(Conditions):
    """Which memories are counted."""

    model_config = ConfigDict(extra="ignore")

    pool: Label | None = None
    status: ListedStatus | None = None


class PageForm(CountForm):
    """Some memories in the order of their ids, or the first ones in another order."""

    limit: int = Field(default=50, ge=1, le=500)
    cursor: UUID | None = Field(default=None, description="`next` of the page before; not with an order")
    order: SortKey | None = Field(default=None, description="the highest first; the next page is by `skip` then")
    ascending: bool = Field(default=False, description="the lowest first")
    skip: int = Field(default=0, ge=0, lt=MOST_ORDERED, description="how many are left out first; with an order")
    parent: UUID | None = Field(default=None, description="only what was written from this memory")


class MemoryForm(GivenMemory):
    """A memory that a person brings in, trusted as it is; without a prompt it is a statement."""

    model_config = example(pool="plan", answer="The ferry to Norderney takes dogs.")
