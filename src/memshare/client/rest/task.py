"""One task of an agent that is not memshare's: recalled before, offered after, rewarded when the outcome is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memshare.client.rest.calls.sharing import Sharing, Turns
from memshare.client.rest.connection import AsyncConnection, BlockingConnection
from memshare_broker.errors import BadInput

if TYPE_CHECKING:
    from memshare.client.replies import Accepted, FeedbackTaken, Recalled, RecalledMemory


class _Task:
    """What a task knows. Set `answer`, and `model` if you like, inside the block."""

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
        """What was recalled for it."""
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
        """Tell what the memories were worth, 0 to 1; None where none was shown. The first word stands."""
        return self._memory.feedback(worth, recall_id=self.recalled.recall_id) if self.memories else None


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
        """Tell what the memories were worth, 0 to 1; None where none was shown. The first word stands."""
        if not self.memories:
            return None
        return await self._memory.feedback(worth, recall_id=self.recalled.recall_id)
