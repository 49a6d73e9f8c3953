"""`Memory` and `AsyncMemory`: the pool for agents of any kind, over `memshare serve`."""

from __future__ import annotations

from memshare.client.rest.calls.sharing import Sharing, Turns
from memshare.client.rest.connection import AsyncConnection, BlockingConnection, Server
from memshare.client.rest.task import AsyncTask, Task

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
