"""Objects that every operation works with, built once for a process: clients, budget, and recalls that are kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from subprocess import Popen
from typing import IO, TYPE_CHECKING, Any
from uuid import UUID

import redis

from memshare.client.client import Client
from memshare.client.errors import NotFound, TooLarge
from memshare.operations.caller import Caller, Tokens
from memshare_broker.connection import PATIENCE, connect, reaching
from memshare_broker.delivery.hops import NextMessage
from memshare_broker.delivery.journey_records import pack, unpack
from memshare_broker.errors import BadInput
from memshare_broker.presence import AgentCard, require_same_secret
from memshare_broker.settings import Settings
from memshare_broker.wire.forms import checked, refuse_too_long
from memshare_broker.wire.messages import LOWEST_PRIORITY, AgentTask, Message, Shown, Turn
from memshare_broker.wire.signing import open_signer
from memshare_llm.limits.budget import Budget
from memshare_llm.limits.usage import UsageLog
from memshare_memory.people import RECALLED

if TYPE_CHECKING:
    from memshare.client.rest.calls.concepts import ConceptsReply
    from memshare.client.rest.calls.decisions import DuplicatesReply
    from memshare.operations.caller_limits import RequestLimit, Shares  # of an extra, as commands are there without

LONGEST = 30 * 86_400  # seconds; as long as the memory service knows that an outcome was told


class KeptRecall(Message):
    """A recall: who asked, for what task, and the memories that were shown."""

    id: UUID
    submitter: str
    pool: str
    pools: tuple[str, ...] = ()
    """All that were looked in, where there were several."""
    prompt: str
    shown: tuple[Shown, ...]


class Recalls:
    """The recalls of one Redis."""

    def __init__(self, client: redis.Redis, keep_days: float) -> None:
        self._client = client
        self._keep = int(min(keep_days * 86_400, LONGEST))
        """Seconds; no longer than it is known that an outcome was told."""

    def keep(self, recall: KeptRecall) -> None:
        self._client.set(f"{RECALLED}{recall.id}", pack(recall.model_dump_json()), ex=self._keep)

    def get(self, caller: Caller, recall_id: UUID) -> KeptRecall:
        """A recall of the caller's own; raises `NotFound`."""
        kept = self._client.execute_command("GET", f"{RECALLED}{recall_id}", NEVER_DECODE=True)  # type: ignore[no-untyped-call]
        recall = KeptRecall.model_validate(unpack(kept)) if kept else None
        if recall is None or recall.submitter != caller.name or not caller.sees(recall.pool):
            raise NotFound(f"No recall of yours has the id {str(recall_id)!r}. They are kept for some days only.")
        return recall


Command = Callable[[Sequence[str], IO[str]], Popen[str]]
WRONG_TOKENS = 30  # of one address in a minute
RAISED = "; MEMSHARE_REQUEST_LIMIT of `memshare serve` raises it"
LOOK_AGAIN = 5.0  # seconds for which the agents that are there are known
STARTS_WITHIN = 120.0  # seconds in which the memory service may load its encoder and its pool


class Backend:
    """A deployment as operations see it. Safe to share between threads; it connects when it is first used.

    `agents` are those that it runs beside what workers announce; None: all that are known. `command` begins a command
    of this machine, and writes to a file what goes wrong.
    """

    def __init__(
        self, settings: Settings, agents: Collection[str] | None = None, command: Command | None = None
    ) -> None:
        self.settings = settings
        self.command = command
        self.agents = agents
        self.client = Client(settings)
        self.redis = connect(settings.redis, tries=1, timeout=PATIENCE)
        self.tokens = Tokens(self.redis)
        self.recalls = Recalls(self.redis, settings.keep_days)
        self.budget = Budget(self.redis, UsageLog(self.redis))
        self.concepts: dict[str, tuple[float, ConceptsReply]] = {}
        """Pool → the time when its concepts were computed, and the result."""
        self.duplicates: dict[str, tuple[float, DuplicatesReply]] = {}
        """Memories of pools that are nearly the same, and when these were looked for."""
        self._cards: tuple[float, dict[str, AgentCard]] = (-LOOK_AGAIN, {})
        self._began = time.monotonic()

    @property
    def is_starting(self) -> bool:
        """True in the first minutes of this process, as long as the memory service has not answered it yet."""
        return not self.client.memories.has_answered and time.monotonic() - self._began < STARTS_WITHIN

    @cached_property
    def requests(self) -> RequestLimit:
        """Requests of a token or an address in a minute."""
        from memshare.operations.caller_limits import RequestLimit

        return RequestLimit(self.redis, self.settings.request_limit, RAISED)

    @cached_property
    def failures(self) -> RequestLimit:
        """Wrong tokens of an address in a minute."""
        from memshare.operations.caller_limits import RequestLimit

        return RequestLimit(self.redis, WRONG_TOKENS)

    @cached_property
    def shares(self) -> Shares:
        """Open tasks and offers of a token."""
        from memshare.operations.caller_limits import Shares

        return Shares(self.redis, self.settings.open_limit, self.settings.offer_limit)

    def check(self) -> None:
        """Raise what would keep this process from handing anything in: no Redis, no secret, or another one."""
        signer = open_signer(self.settings)
        with self.reaching():
            require_same_secret(self.redis, signer)

    def reaching(self) -> AbstractContextManager[None]:
        """Turn a lost connection to Redis into `Unreachable`."""
        return reaching(self.settings.redis)

    def cards(self) -> dict[str, AgentCard]:
        """Every agent by name; asked anew every few seconds."""
        looked, cards = self._cards
        if time.monotonic() - looked > LOOK_AGAIN:
            cards = self.client.agents()
            self._cards = (time.monotonic(), cards)
        return cards

    def agent(self, caller: Caller, name: str) -> AgentCard:
        """An agent that the caller may use; raises `NotFound`."""
        card = self.cards().get(name)
        if card is None or not caller.uses(card):
            known = ", ".join(sorted(one.name for one in self.cards().values() if caller.uses(one))) or "none"
            raise NotFound(f"No agent is called {name!r}. There are: {known}.")
        return card

    def running(self, caller: Caller, name: str) -> AgentCard:
        """An agent whose pool the caller sees and that a worker runs, or is started for; raises `NotFound`."""
        card = self.agent(caller, name)
        if self.agents is not None and name not in self.agents:
            there = {queue for worker in self.client.workers() for queue in worker.queues}
            if name not in there:
                runs = (one for one in self.cards().values() if one.name in there.union(self.agents))
                known = ", ".join(sorted(one.name for one in runs if caller.uses(one))) or "none"
                raise NotFound(f"The agent {name!r} does not run here. There are: {known}.")
        return card

    def pools_of(self, agent: str, submitter: str) -> tuple[str, ...]:
        """The pools of an agent for a submitter; none where these are not known."""
        card = self.cards().get(agent)
        with suppress(BadInput):
            return card.spaces(submitter).pools if card else ()
        return ()

    def pool_of(self, agent: str, submitter: str) -> str | None:
        """The pool in which an agent keeps a submitter's answers, where it is known."""
        return next(iter(self.pools_of(agent, submitter)), None)

    def pools_seen(self, caller: Caller) -> tuple[str, ...] | None:
        """The pools of a caller, those of their own among them; None for who sees all."""
        if caller.pools is None:
            return None
        own = {pool for name in self.cards() for pool in self.pools_of(name, caller.name) if caller.sees(pool)}
        return tuple(sorted(caller.pools | own))

    def beside(self, caller: Caller, card: AgentCard | None) -> tuple[str, ...]:
        """The pools that an agent looks in for a caller beside its first, of those that the caller sees."""
        return tuple(filter(caller.sees, card.spaces(caller.name).pools[1:])) if card else ()

    def checked_task(self, prompt: str | None, messages: tuple[Turn, ...] | None) -> str:
        """A task as one text; raises `BadInput` unless it is a prompt or a conversation, and `TooLarge`."""
        return self.checked_text(checked(AgentTask, "The task", prompt=prompt, messages=messages).text)

    def checked_text(self, text: str, what: str = "prompt") -> str:
        """The text, if it is no longer than is taken; raises `TooLarge`."""
        refuse_too_long(self.settings.prompt_limit, TooLarge, **{what: text})
        return text

    def check_caps(self, agent: str, submitter: str) -> None:
        """Raise `NotYet` where what the agent or the submitter may use today is used up."""
        with self.reaching():
            self.budget.check(agent, submitter)

    def hand_in(self, caller: Caller, agent: str, body: Mapping[str, Any], priority: int, task_id: str) -> NextMessage:
        """Send a task of a caller to an agent: the more of theirs wait, the later it comes.

        Raises `TooManyRequests` where as many wait as may.
        """
        with self.reaching():
            back = self.shares.take_open(caller, task_id, self.client.ledger)
        card = self.agent(caller, agent)
        first, *_ = card.spaces(caller.name).pools
        pools = [first, *self.beside(caller, card)] if card.pools and caller.pools is not None else None
        body = {**body, "submitter": caller.name, "pools": pools}
        body = {name: value for name, value in body.items() if value is not None}
        message = self.client.task_message(agent, body, min(priority + back, LOWEST_PRIORITY), task_id)
        self.client.send(message)
        return message

    def close(self) -> None:
        self.client.close()
        self.redis.close()
