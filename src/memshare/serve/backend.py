"""What every door works with, built once for a process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from memshare.client import Client
from memshare.serve.caller import Caller
from memshare.serve.errors import NotFound, TooLarge
from memshare.serve.recall_log import Recalls
from memshare.serve.request_limit import RequestLimit
from memshare.serve.tokens import Tokens
from memshare_broker.connection import connect, reaching
from memshare_broker.presence import AgentCard, require_same_secret
from memshare_broker.settings import Settings
from memshare_broker.wire.secret import open_signer
from memshare_llm.limits.budget import Budget
from memshare_llm.limits.usage import UsageLog

LOOK_AGAIN = 5.0  # seconds for which the agents that are there are known


class Backend:
    """The deployment as the doors see it. Safe to share between threads; it connects when it is first used."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.client = Client(settings)
        self.redis = connect(settings.redis, tries=1)
        self.tokens = Tokens(self.redis)
        self.recalls = Recalls(self.redis, settings.keep_days)
        self.requests = RequestLimit(self.redis, settings.request_limit)
        self.budget = Budget(self.redis, UsageLog(self.redis))
        self._cards: tuple[float, dict[str, AgentCard]] = (-LOOK_AGAIN, {})

    def check(self) -> None:
        """Raise what would keep this process from handing anything in: no Redis, no secret, or another one."""
        signer = open_signer(self.settings)
        with self.reaching():
            require_same_secret(self.redis, signer)

    @contextmanager
    def reaching(self) -> Iterator[None]:
        """Turn a lost connection to Redis into `Unreachable`."""
        with reaching(self.settings.redis):
            yield

    def cards(self) -> dict[str, AgentCard]:
        """Every agent by name; asked anew every few seconds."""
        looked, cards = self._cards
        if time.monotonic() - looked > LOOK_AGAIN:
            cards = self.client.agents()
            self._cards = (time.monotonic(), cards)
        return cards

    def agent(self, caller: Caller, name: str) -> AgentCard:
        """An agent whose pool the caller sees; raises `NotFound`."""
        card = self.cards().get(name)
        if card is None or not caller.sees(card.pool):
            known = ", ".join(sorted(one.name for one in self.cards().values() if caller.sees(one.pool))) or "none"
            raise NotFound(f"No agent is called {name!r}. There are: {known}.")
        return card

    def pool_of(self, agent: str) -> str | None:
        """The pool of an agent, where it is known."""
        card = self.cards().get(agent)
        return card.pool if card else None

    def checked_text(self, text: str, what: str = "prompt") -> str:
        """The text, if it is no longer than is taken; raises `TooLarge`."""
        limit = self.settings.prompt_limit
        if len(text) > limit:
            raise TooLarge(f"The {what} has {len(text):,} characters; at most {limit:,} are taken.")
        return text

    def check_caps(self, agent: str, submitter: str) -> None:
        """Raise `NotYet` where what the agent or the submitter may use today is used up."""
        with self.reaching():
            self.budget.check(agent, submitter)

    def close(self) -> None:
        self.client.close()
        self.redis.close()
