"""The Python client: submit tasks, read results, follow journeys."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from uuid import uuid4

from pydantic import ValidationError

from memshare.client.journey import Journey, read_journey, read_journeys
from memshare_agents.roster import usable_cards
from memshare_broker.app import make_app
from memshare_broker.connection import PATIENCE, connect, reaching
from memshare_broker.delivery.dead_letters import DeadLetters
from memshare_broker.delivery.hops import ANSWER, NextMessage
from memshare_broker.delivery.journey_records import OPINION, OutcomeRecord, noted, read_outcomes
from memshare_broker.delivery.ledger import Ledger
from memshare_broker.delivery.submission import Cancelling, Submission, cancel_journey, ended, hand_in
from memshare_broker.delivery.sweeper import lost
from memshare_broker.errors import BadInput, TryAgain, Unreachable
from memshare_broker.presence import AgentCard, Presence, present
from memshare_broker.settings import Settings, load_settings
from memshare_broker.wire.forms import readable, refuse_too_long
from memshare_broker.wire.grades import Opinion
from memshare_broker.wire.messages import AgentTask, derived_id
from memshare_broker.wire.same_text import refuse_half_characters
from memshare_broker.wire.signing import open_signer
from memshare_llm.limits.concurrency import last_calls
from memshare_llm.limits.usage import day_of
from memshare_memory.admit.seeds import seeds_mean
from memshare_memory.door.client import MemoryClient
from memshare_memory.recall.near_enough import Nearness, nearness

INTERACTIVE, BULK, LOW = 3, 6, 9  # priorities: 0 goes first
LOOK_EVERY = 0.05  # seconds
LOOK_AROUND_EVERY = 5.0  # seconds; whether anything else moves while one journey is waited for


class Client:
    """A connection to the queues, and in `memories` to the memory service.

    Cheap to make, safe to share between threads.

    >>> with Client() as client:
    ...     client.submit("poem", "A limerick about a lighthouse", kind="limerick").get(timeout=60)["answer"]
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or load_settings()
        self.app = make_app(settings=self.settings)
        self._redis = connect(self.settings.redis, tries=1, timeout=PATIENCE)
        self._waiting = connect(self.settings.redis)
        self.ledger = Ledger(self._redis, self.settings.keep_days, self.settings.traces_days)
        self.dead_letters = DeadLetters(self._redis, self.ledger)
        self.memories = MemoryClient(self.settings)
        self._cards, self._wrong = usable_cards(self.settings)

    def submit(
        self,
        agent: str,
        prompt: str | None = None,
        *,
        messages: Sequence[dict[str, str]] | None = None,
        kind: str | None = None,
        memories: int | None = None,
        submitter: str = "anonymous",
        documents: Sequence[str] = (),
        remember: bool = True,
        reuse: bool = False,
        priority: int = INTERACTIVE,
    ) -> Submission:
        """Submit a task; `.get(timeout=…)` of what comes back waits for the answer, a dictionary.

        `messages` takes a conversation in place of the prompt: earlier turns, then the task. `memories` is how
        many are shown, 0 to 20; by default as many as the agent's file says. `documents` are files and folders
        of MEMSHARE_DOCUMENTS to look in alone, for an agent that reads. Without `remember` the pair is graded, and
        neither remembered, credited nor learnt from. With `reuse` the same task of the same submitter, submitted so
        earlier in this UTC day, answers this one, unless it failed or its answer was called wrong. `priority` is 0
        (first) to 9.

        Raises `BadInput` for an unknown agent or kind and for a task that would be refused, `QueueFull` with the
        seconds after which to come back, and `Unreachable`.
        """
        body = {
            "prompt": prompt,
            "messages": messages,
            "kind": kind,
            "memories": memories,
            "submitter": submitter,
            "documents": tuple(documents) or None,
            "remember": remember,
        }
        given = {name: value for name, value in body.items() if value is not None}
        task_id = _reusable_id(agent, self.check(agent, given)) if reuse else None
        if task_id is not None and (self.result(task_id).failed() or self._is_called_wrong(task_id)):
            task_id = None
        return self.submit_task(agent, given, priority, task_id)

    def _is_called_wrong(self, task_id: str) -> bool:
        with reaching(self.settings.redis):
            said = noted(self._redis, task_id, OPINION)
        return said is not None and Opinion.model_validate(said).is_wrong

    def submit_task(
        self, agent: str, body: dict[str, Any], priority: int = INTERACTIVE, task_id: str | None = None
    ) -> Submission:
        """Submit a task given as the JSON object that travels; see `submit`.

        A task with an id that is known already, open or ended, is not submitted again: its result is what comes back.
        Raises `BadInput` as well where the id is another task's.
        """
        message = self.task_message(agent, body, priority, task_id or str(uuid4()))
        if not self.send(message):
            self._require_same(message)
        return self.result(message.id)

    def task_message(self, agent: str, body: dict[str, Any], priority: int, task_id: str) -> NextMessage:
        """The message that such a task travels with; raises `BadInput` for one that would be refused."""
        return ANSWER.of(agent).next(self.check(agent, body), task_id, priority)

    def send(self, message: NextMessage, *, keep: bool = False) -> bool:
        """Open and publish a message in one step; False where it is open or has ended. `keep` is as in `Ledger.open`.

        Raises `QueueFull` and `Unreachable`, and `BadInput` for a priority that there is not, and for a message that
        has to be signed where this machine has no secret.
        """
        limit = self.settings.queue_limit
        try:
            with reaching(self.settings.redis):
                return hand_in(self.app, self.ledger, message, lambda: open_signer(self.settings), limit, keep=keep)
        except ValidationError as error:
            raise BadInput(readable(error, "The task")) from error

    def _require_same(self, message: NextMessage) -> None:
        """Raises `BadInput` where another task has the id: its answer is not the answer to this one."""
        with reaching(self.settings.redis):
            known = self.ledger.journey(message.journey).get("task")
        if known and (known["queue"] != message.hop.queue or _task_of(known["body"]) != message.body):
            raise BadInput(f"Another task has the id {message.id!r}: leave the id out, or give a new one.")

    def outcomes(self, journeys: Sequence[str]) -> dict[str, OutcomeRecord]:
        """The known outcomes of journeys that were sent to be kept; the others are left out."""
        with reaching(self.settings.redis):
            return read_outcomes(self._redis, journeys)

    def seeds_mean(self, pool: str) -> float | None:
        """The mean score of a pool's seeds; None without any."""
        with reaching(self.settings.redis):
            return seeds_mean(self._redis, pool)

    def check(self, agent: str, body: dict[str, Any]) -> AgentTask:
        """The task as it will travel; raises `BadInput` for what the agent would refuse."""
        refuse_half_characters([agent, body], "The task")
        card = self._card(agent)
        try:
            task = AgentTask.model_validate(body)
        except ValidationError as error:
            raise BadInput(readable(error, "The task")) from error
        card.require_kind(task.kind)
        card.spaces(task.submitter)
        refuse_too_long(self.settings.prompt_limit, prompt=task.text)
        return task

    def result(self, task_id: str) -> Submission:
        """The result of a task that was submitted earlier."""
        return Submission(task_id, self.app, self._redis, self._waiting, self.settings.redis)

    def answered(self, task_ids: Sequence[str]) -> list[str]:
        """The given ids of tasks that were answered or given up."""
        with reaching(self.settings.redis):
            return ended(self.app, self._redis, task_ids)

    def nearness(self, pool: str | None) -> Nearness:
        """The least similarity at which a memory of a pool, or of any, counts as an answer, and where that is from."""
        with reaching(self.settings.redis):
            return nearness(self._redis, pool, self.settings.near_enough)

    def journey(self, task_id: str, *, search: bool = False) -> Journey:
        """The journey of a task so far, with `search` as `sought` has it; raises `BadInput` for an unknown id."""
        with reaching(self.settings.redis):
            journey = read_journey(self.ledger, task_id)
            return self.sought([journey])[0] if search else journey

    def journeys(self, task_ids: Sequence[str]) -> list[Journey]:
        """The journeys of several tasks so far, read at once, as `sought` has them; unknown ids are left out."""
        with reaching(self.settings.redis):
            return self.sought(read_journeys(self.ledger, task_ids))

    def sought(self, journeys: Sequence[Journey]) -> list[Journey]:
        """These journeys; one that is in no queue and at no worker says until when it `waits`."""
        open_ = self.ledger.open_of([one.message for one in journeys if one.message and not one.waits])
        nowhere = {
            one.id: one
            for queue in {entry.queue for entry in open_}
            for one in lost(self._redis, queue, self.settings.lost_after)
        }
        return [one.model_copy(update={"waits": one.waits or nowhere.get(one.message or "")}) for one in journeys]

    def cancel(self, task_id: str) -> Cancelling:
        """Cancel an unfinished task; says what became of that."""
        with reaching(self.settings.redis):
            return cancel_journey(self.ledger, self.app, task_id, "Somebody cancelled it.")

    def wait(self, task_id: str, timeout: float) -> Journey:
        """The journey of a task once it has ended: answered, graded and settled, or given up.

        Raises `TryAgain` if it has not ended within `timeout` seconds, and `BadInput` for an unknown id.
        """
        deadline = time.monotonic() + timeout
        while not (journey := self.journey(task_id)).ended:
            if time.monotonic() > deadline:
                why = f" It waits: {journey.waits.why}" if journey.waits else " The worker's log says more."
                raise TryAgain(f"Task {task_id} is {journey.state} after {timeout:g} s, and not at its end.{why}")
            time.sleep(LOOK_EVERY)
        return journey

    def agents(self) -> dict[str, AgentCard]:
        """Every agent that this machine's roster has or a worker has announced, by name.

        One whose file cannot be used is not there unless a worker has announced it.
        """
        announced = {card.name: card for worker in self.workers() for card in worker.agents}
        return self._cards | announced

    def last_calls(self) -> dict[str, list[str]]:
        """How the last calls of each model ended, the newest first."""
        with reaching(self.settings.redis):
            return last_calls(self._redis)

    def workers(self) -> list[Presence]:
        """The workers that are there."""
        with reaching(self.settings.redis):
            return present(self._redis)

    def unserved(self, queues: Iterable[str]) -> str | None:
        """A sentence on the worker to start, where none serves some of these queues."""
        served = {queue for worker in self.workers() for queue in worker.queues}
        missing = [queue for queue in queues if queue not in served]
        start = f"Start `memshare up` (again, if it runs), or `memshare worker {' '.join(missing)}`."
        return f"No worker serves {', '.join(missing)} yet. {start}" if missing else None

    def close(self) -> None:
        """Let go of Redis and of the memory service."""
        self.memories.close()
        self.app.close()
        self._redis.close()
        self._waiting.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _card(self, agent: str) -> AgentCard:
        card = self._cards.get(agent)
        if card is None:
            self._cards = self.agents()
            card = self._cards.get(agent)
        if card is None:
            known = f"There are: {', '.join(sorted(self._cards))}."
            raise self._wrong.get(agent) or BadInput(f"No agent is called {agent!r}. {known}")
        return card


def _task_of(body: object) -> AgentTask | None:
    """The task that travels as this; None where it is none."""
    try:
        return AgentTask.model_validate(body)
    except ValidationError:
        return None


def _reusable_id(agent: str, task: AgentTask) -> str:
    """The id of a task, whose submitter is part of it, in this UTC day."""
    return str(derived_id("reusable task", agent, task.model_dump_json(), day_of(time.time())))


def ended_in_order(
    client: Client, task_ids: Sequence[str], patience: float, tend: Callable[[], object] = lambda: None
) -> Iterator[Journey]:
    """The journeys in order, each once it has been settled or given up; `tend` is called while it waits.

    Raises `Unreachable` where no message of the deployment has moved for `patience` seconds.
    """
    last = looked = time.monotonic()
    open_then: dict[str, int] | None = None
    for task_id in task_ids:
        while not (journey := client.journey(task_id)).ended:
            if time.monotonic() - looked > LOOK_AROUND_EVERY:
                looked, open_now = time.monotonic(), client.ledger.open_messages()
                if open_now != open_then:
                    last, open_then = looked, open_now
            if time.monotonic() - last > patience:
                why = f" It waits: {journey.waits.why}" if journey.waits else " The worker's log says more."
                raise Unreachable(f"Nothing has ended for {patience:.0f} s.{why}")
            tend()
            time.sleep(LOOK_EVERY)
        last = time.monotonic()
        yield journey


def wait_until_idle(client: Client, patience: float, tend: Callable[[], object] = lambda: None) -> None:
    """Return once no message is open; raises `Unreachable` after `patience` seconds."""
    deadline = time.monotonic() + patience
    while any(client.ledger.open_messages().values()):
        if time.monotonic() > deadline:
            raise Unreachable(f"Messages have been open for {patience:.0f} s; the worker's log says more.")
        tend()
        time.sleep(LOOK_EVERY)
