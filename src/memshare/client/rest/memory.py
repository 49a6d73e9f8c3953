"""`Memory` and `AsyncMemory`: the pool for agents of any kind, over `memshare serve`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from memshare.client.address import PORT
from memshare.client.rest import calls, item_calls
from memshare.client.rest.calls import Turns
from memshare.client.rest.connection import AsyncConnection, Connection, Server
from memshare.client.rest.following import QUIET, follow, follow_async
from memshare.client.rest.methods import asynchronous, blocking
from memshare.client.rest.task import AsyncTask, Task

if TYPE_CHECKING:
    from memshare.client.replies import JourneyReply

URL = f"http://127.0.0.1:{PORT}"
TIMEOUT = 30.0  # seconds
TRIES = 4


class Memory:
    """The shared memory, asked over HTTP. A method has the name of its path: docs/doors.md.

    Safe to share between threads. What fails for now is asked again, `tries` times at most, and done once all the same;
    raises `TryAgain`, `Unreachable`, `BadInput` and what else `memshare` names.

    >>> with Memory(token="msh_…") as memory, memory.task("logic", "What has keys and opens no door?") as task:
    ...     task.answer = my_agent(task.messages, task.prompt)
    """

    def __init__(
        self, url: str = URL, token: str | None = None, *, timeout: float = TIMEOUT, tries: int = TRIES
    ) -> None:
        self._connection = Connection(Server(url, token, timeout, tries))
        self.journeys = Journeys(self._connection)
        self.memories = Memories(self._connection)
        self.dead_letters = DeadLetters(self._connection)

    recall = blocking(calls.recall)
    pairs = blocking(calls.pairs)
    feedback = blocking(calls.feedback)
    tasks = blocking(calls.tasks)
    pools = blocking(calls.pools)
    agents = blocking(calls.agents)
    rubrics = blocking(calls.rubrics)
    stats = blocking(calls.stats)

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
        return Task(self._connection, agent, prompt, messages, kind, model, k)

    def close(self) -> None:
        """Let go of the connections."""
        self._connection.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Journeys:
    """What became of tasks and pairs."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    get = blocking(item_calls.get_journey)
    cancel = blocking(item_calls.cancel)

    def events(self, journey_id: str) -> Iterator[JourneyReply]:
        """The journey now and at each of its changes, until it has ended.

        A stream that breaks off, or is silent for 15 seconds and `timeout`, is asked for again; no state comes twice.
        Raises `Unreachable` where that fails `tries` times in a row. Leave the loop when you have seen enough.
        """
        return follow(self._connection, item_calls.journey_events(journey_id, QUIET))


class Memories:
    """The memories themselves: search, look through, read, bring in, change and forget them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    search = blocking(item_calls.search)
    page = blocking(item_calls.page)
    get = blocking(item_calls.get)
    add = blocking(item_calls.add)
    edit = blocking(item_calls.edit)
    forget = blocking(item_calls.forget)


class DeadLetters:
    """What was given up: list it, put it back into its queue, or drop it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    list = blocking(item_calls.list_letters)
    retry = blocking(item_calls.retry)
    drop = blocking(item_calls.drop)


class AsyncMemory:
    """`Memory` for asyncio: every method is awaited. Of one event loop.

    >>> async with AsyncMemory(token="msh_…") as memory, memory.task("logic", "What has keys?") as task:
    ...     task.answer = await my_agent(task.messages, task.prompt)
    """

    def __init__(
        self, url: str = URL, token: str | None = None, *, timeout: float = TIMEOUT, tries: int = TRIES
    ) -> None:
        self._connection = AsyncConnection(Server(url, token, timeout, tries))
        self.journeys = AsyncJourneys(self._connection)
        self.memories = AsyncMemories(self._connection)
        self.dead_letters = AsyncDeadLetters(self._connection)

    recall = asynchronous(calls.recall)
    pairs = asynchronous(calls.pairs)
    feedback = asynchronous(calls.feedback)
    tasks = asynchronous(calls.tasks)
    pools = asynchronous(calls.pools)
    agents = asynchronous(calls.agents)
    rubrics = asynchronous(calls.rubrics)
    stats = asynchronous(calls.stats)

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
        return AsyncTask(self._connection, agent, prompt, messages, kind, model, k)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._connection.close()

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncJourneys:
    """What became of tasks and pairs."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    get = asynchronous(item_calls.get_journey)
    cancel = asynchronous(item_calls.cancel)

    def events(self, journey_id: str) -> AsyncIterator[JourneyReply]:
        """The journey now and at each of its changes, until it has ended, as `Journeys.events` gives it."""
        return follow_async(self._connection, item_calls.journey_events(journey_id, QUIET))


class AsyncMemories:
    """The memories themselves: search, look through, read, bring in, change and forget them."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    search = asynchronous(item_calls.search)
    page = asynchronous(item_calls.page)
    get = asynchronous(item_calls.get)
    add = asynchronous(item_calls.add)
    edit = asynchronous(item_calls.edit)
    forget = asynchronous(item_calls.forget)


class AsyncDeadLetters:
    """What was given up: list it, put it back into its queue, or drop it."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    list = asynchronous(item_calls.list_letters)
    retry = asynchronous(item_calls.retry)
    drop = asynchronous(item_calls.drop)
