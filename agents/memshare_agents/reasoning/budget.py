"""How far a run of the reasoning agent may go, what it has used so far, and the chat model that draws on that."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

from pydantic import Field

from memshare_broker.toml_files import TomlForm
from memshare_broker.wire.messages import MAX_PARTS, Usage
from memshare_llm.chat import Chat, ChatAround, ChatCall, R, RefusedReply, UselessReply


class RunLimits(TomlForm):
    """The budgets of one run, the first of which that is used up ends it, and how its short-term memory forgets."""

    depth: int = Field(
        default=5, ge=1, le=16, description="levels of sub-questions within each other; plans made anew stay on theirs"
    )
    steps: int = Field(default=24, ge=1, le=100)
    calls: int = Field(default=60, ge=1, le=1_000, description="of models, by all steps together")
    tokens: int = Field(default=150_000, ge=1, description="read and written by all model calls of the run")
    seconds: float | None = Field(default=None, gt=0, description="absent: as long as a task may take")
    sub_questions: int = Field(
        default=0, ge=0, le=MAX_PARTS, description="with verified answers that are graded, to become memories, too"
    )
    context: int = Field(default=8_000, ge=1_000, description="tokens of short-term memory that a model is shown")
    decay: float = Field(default=0.9, gt=0, le=1, description="part of an item's strength that is left after a step")
    threshold: float = Field(default=0.25, ge=0, lt=1, description="strength below which an item is dropped")


class UsedUp(Exception):
    """A budget of the run is used up; the message says which."""


class RunBudget:
    """What a run has used so far."""

    def __init__(self, limits: RunLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self.usage = Usage()
        self.calls = 0
        self._limits = limits
        self._clock = clock
        self._end = clock() + (limits.seconds or inf)

    def check(self) -> None:
        """Raise `UsedUp` where nothing is left."""
        if self.usage.prompt_tokens + self.usage.completion_tokens >= self._limits.tokens:
            raise UsedUp(f"its budget of {self._limits.tokens:,} tokens is used up")
        if self.calls >= self._limits.calls:
            raise UsedUp(f"its {self._limits.calls} calls of models are used up")
        if self._clock() >= self._end:
            raise UsedUp(f"its time of {self._limits.seconds:g} seconds is over")

    def pay(self, usage: Usage) -> None:
        self.usage += usage


class Paid(ChatAround):
    """A chat model for one step of a run. A call raises `UsedUp` where it would begin without a budget.

    The last call may exceed the tokens, as its length is known only afterwards.
    """

    def __init__(self, chat: Chat, budget: RunBudget) -> None:
        super().__init__(chat)
        self.usage = Usage()
        self.asked = False
        self._budget = budget

    def _call(self, call: Callable[[], R], asked: ChatCall) -> R:  # noqa: ARG002
        self._budget.check()
        self._budget.calls += 1
        self.asked = True
        try:
            said = call()
        except (UselessReply, RefusedReply) as error:
            self._pay(error.usage)
            raise
        self._pay(said.usage)
        return said

    def _pay(self, usage: Usage) -> None:
        self.usage += usage
        self._budget.pay(usage)
