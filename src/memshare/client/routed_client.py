"""Several deployments as one: each agent's tasks go to the deployment that has the agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from memshare.client.client import INTERACTIVE, Client
from memshare.client.deployments import read_deployments
from memshare.client.journey import Journey
from memshare.client.submission import Cancelling, Submission
from memshare_broker.connection import reaching
from memshare_broker.errors import BadInput, Unreachable
from memshare_broker.settings import Settings, load_settings
from memshare_broker.wire.messages import AgentTask

T = TypeVar("T")


class RoutedClient:
    """A client of deployments that share nothing; each has a Redis, a memory service and agents of its own.

    >>> with RoutedClient.open() as client:  # of what MEMSHARE_DEPLOYMENTS names
    ...     client.submit("logic", "Who owns the fish?").get(timeout=60)["answer"]
    """

    def __init__(self, client_of: Mapping[str, Client], of_others: Client | None = None) -> None:
        """`client_of` has the client of each agent's deployment, by the agent's name; `of_others` is all others'."""
        self._client_of = dict(client_of)
        self._of_others = of_others
        self.clients = tuple(dict.fromkeys([*client_of.values(), *([of_others] if of_others else [])]))

    @classmethod
    def open(cls, settings: Settings | None = None) -> RoutedClient:
        """A client of what MEMSHARE_DEPLOYMENTS names, or else of the one deployment of the settings."""
        settings = settings or load_settings()
        if settings.deployments is None:
            return cls({}, Client(settings))
        client_of: dict[str, Client] = {}
        for own, agents in read_deployments(settings.deployments).values():
            client_of |= dict.fromkeys(agents, Client(own))
        return cls(client_of)

    def of(self, agent: str) -> Client:
        """The client of the deployment that has an agent; raises `BadInput` where none has it."""
        client = self._client_of.get(agent, self._of_others)
        if client is None:
            raise BadInput(f"No deployment has the agent {agent!r}. There are: {', '.join(sorted(self._client_of))}.")
        return client

    def home(self, task_id: str) -> Client:
        """The client of the deployment that a task was submitted to; raises `BadInput` where none of several has it."""
        if len(self.clients) == 1:
            return self.clients[0]
        return next(iter(self.holding(task_id, lambda client: client.ledger.submitted(task_id) is not None)))

    def holding(self, task_id: str, look: Callable[[Client], T]) -> dict[Client, T]:
        """What a look for a task found in each deployment where it found any; raises `BadInput` where none has it."""
        found: dict[Client, T] = {}
        away: Unreachable | None = None
        for client in self.clients:
            try:
                with reaching(client.settings.redis):
                    if seen := look(client):
                        found[client] = seen
            except Unreachable as error:  # the task may be another's
                away = error
        if not found:
            raise away or BadInput(f"No task has the id {task_id!r} in any of {len(self.clients)} deployments.")
        return found

    def submit(self, agent: str, prompt: str | None = None, **options: Any) -> Submission:
        """Submit a task to its agent's deployment; see `Client.submit`."""
        return self.of(agent).submit(agent, prompt, **options)

    def submit_task(
        self, agent: str, body: dict[str, Any], priority: int = INTERACTIVE, task_id: str | None = None
    ) -> Submission:
        """Submit a task given as the JSON object that travels; see `Client.submit_task`."""
        return self.of(agent).submit_task(agent, body, priority, task_id)

    def check(self, agent: str, body: dict[str, Any]) -> AgentTask:
        """The task as it will travel; see `Client.check`."""
        return self.of(agent).check(agent, body)

    def answered(self, task_ids: Sequence[str]) -> list[str]:
        """Those of these tasks that were answered or given up."""
        return [one for client in self.clients for one in client.answered(task_ids)]

    def result(self, task_id: str) -> Submission:
        """The result of a task that was submitted earlier."""
        return self.home(task_id).result(task_id)

    def journey(self, task_id: str) -> Journey:
        """What became of a task so far."""
        return self.home(task_id).journey(task_id)

    def wait(self, task_id: str, timeout: float) -> Journey:
        """The journey of a task once it has ended; see `Client.wait`."""
        return self.home(task_id).wait(task_id, timeout)

    def cancel(self, task_id: str) -> Cancelling:
        """Cancel an unfinished task; says what became of that."""
        return self.home(task_id).cancel(task_id)

    def close(self) -> None:
        """Let go of every deployment."""
        for client in self.clients:
            client.close()

    def __enter__(self) -> RoutedClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
