"""A task of an agent that is not memshare's: recalled before, offered after, rewarded when the outcome is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memshare.client.rest.calls.all_calls import Sharing, Turns
from memshare.client.rest.methods import AsyncConnection, BlockingConnection, Server
from memshare_broker.errors import BadInput

if TYPE_CHECKING:
    from memshare.client.replies import Accepted, FeedbackTaken, Recalled, RecalledMemory

PORT = 8780
URL = f"http://127.0.0.1:{PORT}"
TIMEOUT = 30.0  # seconds
TRIES = 4


class Memory(Sharing[BlockingConnection]):
    """The shared memory, asked over HTTP. A method has the name of its path: docs/doors.md.

    Safe to share between threads. What fails for now is asked again, `tries` times at most, and done once all the same;
    raises `TryAgain`, `Unreachable`, `BadInput` and what else `memshare` names.

    >>> with Memory(token="msh_…") as memory, memory.task("logic", "What has keys and opens no door?") as task:
    ...     task.answer = my_agent(task.messages, task.prompt)
    """

    def __init__(
        self, url: str = URL, token: str | None = None, *, timeout: float = TIMEOUT, tries: int = TRIES
    ) -> None:
        super().__init__(BlockingConnection(Server(url, token, timeout, tries)))

    def task(
        self,
        agent: str,
        prompt: str | None = None,
        *,
        messages: Turns | None = None,
        kind: str | None = None,
        model: str | None = None,
        k: int = 3,
    ) -> Task:
        """A task of an agent of yours: recalls when the block begins, and offers `answer` when it ends well."""
        return Task(self, agent, prompt, messages, kind, model, k)

    def close(self) -> None:
        """Let go of the connections."""
        self._connection.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncMemory(Sharing[AsyncConnection]):
    """`Memory` for asyncio: every method is awaited. Of one event loop.

    >>> async with AsyncMemory(token="msh_…") as memory, memory.task("logic", "What has keys?") as task:
    ...     task.answer = await my_agent(task.messages, task.prompt)
    """

    def __init__(
        self, url: str = URL, token: str | None = None, *, timeout: float = TIMEOUT, tries: int = TRIES
    ) -> None:
        super().__init__(AsyncConnection(Server(url, token, timeout, tries)))

    def task(
        self,
        agent: str,
        prompt: str | None = None,
        *,
        messages: Turns | None = None,
        kind: str | None = None,
        model: str | None = None,
        k: int = 3,
    ) -> AsyncTask:
        """A task of an agent of yours: recalls when the block begins, and offers `answer` when it ends well."""
        return AsyncTask(self, agent, prompt, messages, kind, model, k)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._connection.close()

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _Task:
    """State of a task. Set `answer`, and `model` if you like, inside the block."""

    def __init__(
        self, agent: str, prompt: str | None, messages: Turns | None, kind: str | None, model: str | None, k: int
    ) -> None:
        self.agent = agent
        self.prompt = prompt
        self.kind = kind
        self.model = model
        self.answer: str | None = None
        self.offered: Accepted | None = None
        self._turns = messages
        self._k = k
        self._recalled: Recalled | None = None

    @property
    def recalled(self) -> Recalled:
        """The reply to its recall."""
        if self._recalled is None:
            raise BadInput("A task recalls when its block begins: with memory.task(…) as task: …")
        return self._recalled

    @property
    def memories(self) -> tuple[RecalledMemory, ...]:
        """The memories that fit it, best first."""
        return self.recalled.memories

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The memories as turns, best last, to put directly before the task, behind the history of a conversation."""
        return [turn.model_dump() for turn in self.recalled.messages or ()]

    @property
    def journey(self) -> str | None:
        """The id of what became of the answer, once it is offered."""
        return self.offered.id if self.offered else None

    def _about(self) -> dict[str, Any]:
        """The subject of a reward, as `feedback` takes it."""
        if self.journey is not None:
            return {"journey": self.journey}
        return {"recall_id": self.recalled.recall_id} if self.memories else {}

    def _asked(self) -> dict[str, Any]:
        return {"prompt": self.prompt, "messages": self._turns, "agent": self.agent}

    def _pair(self) -> dict[str, Any]:
        about = {"kind": self.kind, "model": self.model, "recall_id": self.recalled.recall_id}
        return {**self._asked(), **about, "answer": self.answer}


class Task(_Task):
    """A task as a block: `with memory.task("logic", prompt) as task`. A block that raises offers nothing."""

    def __init__(self, memory: Sharing[BlockingConnection], *about: Any) -> None:
        super().__init__(*about)
        self._memory = memory

    def __enter__(self) -> Task:
        self._recalled = self._memory.recall(**self._asked(), k=self._k, format="messages")
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self.answer is not None:
            self.offered = self._memory.pairs(**self._pair())

    def reward(self, worth: float) -> FeedbackTaken | None:
        """Tell what the answer, or without one the memories, were worth, 0 to 1; None without either.

        The first word stands. What becomes of an answer that is worth less than .5 is hidden.
        """
        return self._memory.feedback(worth, **about) if (about := self._about()) else None


class AsyncTask(_Task):
    """The same for asyncio: `async with memory.task("logic", prompt) as task`."""

    def __init__(self, memory: Sharing[AsyncConnection], *about: Any) -> None:
        super().__init__(*about)
        self._memory = memory

    async def __aenter__(self) -> AsyncTask:
        self._recalled = await self._memory.recall(**self._asked(), k=self._k, format="messages")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self.answer is not None:
            self.offered = await self._memory.pairs(**self._pair())

    async def reward(self, worth: float) -> FeedbackTaken | None:
        """As `Task.reward`."""
        return await self._memory.feedback(worth, **about) if (about := self._about()) else None
