"""The three calls as plain functions with descriptions for a model, of which a library makes its tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memshare.client.rest.task import Memory
from memshare_broker.errors import MemshareError


def sharing_functions(memory: Memory, agent: str, k: int = 3) -> list[Callable[..., Any]]:
    """The functions `recall`, `offer` and `feedback`, for the tasks of an agent of the roster.

    What is refused comes back as an `error`, so that the model can mend its call.
    """

    def recall(task: str) -> dict[str, Any]:
        """Find what worked before on tasks like this one; call it before you answer.

        Args:
            task: the task as the user gave it; if it goes on from earlier turns, in words that stand alone
        """

        def found() -> dict[str, Any]:
            recalled = memory.recall(task, agent=agent, k=k)
            some = {"id", "prompt", "answer", "score", "why"}
            memories = [one.model_dump(mode="json", include=some) for one in recalled.memories]
            return {"recall_id": str(recalled.recall_id), "memories": memories}

        return _told(found)

    def offer(task: str, answer: str, recall_id: str | None = None) -> dict[str, Any]:
        """Share your final answer; others are shown it only where it is graded as good.

        Args:
            task: the task as the user gave it; if it goes on from earlier turns, in words that stand alone
            answer: your final answer
            recall_id: what `recall` returned, where you called it
        """
        return _told(lambda: {"journey": memory.pairs(task, answer, agent=agent, recall_id=recall_id).id})

    def feedback(recall_id: str, reward: float) -> dict[str, Any]:
        """Tell how it went once the outcome is known; it decides what is shown from now on. Not on a guess.

        Args:
            recall_id: what `recall` returned
            reward: from 0 (useless or wrong) to 1 (as good as can be)
        """
        return _told(lambda: {"told": len(memory.feedback(reward, recall_id=recall_id).taken)})

    return [recall, offer, feedback]


def _told(call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return call()
    except MemshareError as error:
        return {"error": str(error)}
