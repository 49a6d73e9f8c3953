"""The most calls of models that what an experiment asks for can take: an upper bound, by what the parts may do.

A question that wants a reply of a certain form is asked twice where the first reply does not fit, and a message that
fails is tried again. Not counted is what a person or the machine adds: a worker that is killed asks again for what it
was doing, and so does whoever takes back a dead letter.
"""

from __future__ import annotations

from collections.abc import Mapping

from memshare.evaluation.queues import Task
from memshare_agents.reasoning.limits import limits_of
from memshare_agents.roster import Agent
from memshare_broker.settings import Settings
from memshare_llm.structured import MOST_CALLS
from memshare_memory.recall.recall import CANDIDATES

ENGINE_CALLS = 5  # of a question that is not hard: plan, search, plan, answer, check


class MostCalls:
    """Bounds by the settings of the workers; each is of one message with all its tries."""

    def __init__(self, settings: Settings, agents: Mapping[str, Agent]) -> None:
        self._agents = agents
        self._settings = settings
        self._tries = settings.tries
        self.question = MOST_CALLS * self._tries
        self.comparison = MOST_CALLS * self._tries
        self.grade = MOST_CALLS * settings.scorer_votes * self._tries
        # With log-probabilities a call for each candidate, and where these are of no use one for all.
        first_tokens = 2 * CANDIDATES if settings.labels == "logprobs" else 0
        self.lesson = (first_tokens + MOST_CALLS) * self._tries

    def has_engine(self, task: Task) -> bool:
        """Whether a task is answered in steps."""
        return task.engine and self._agents[task.item.agent].engine is not None

    def sub_questions(self, task: Task) -> int:
        """How many answers of one task may be graded and remembered beside its own."""
        if not self.has_engine(task):
            return 0
        return limits_of(self._agents[task.item.agent].limits, self._settings).sub_questions

    def answer(self, task: Task) -> int:
        """Of one answer: a call, or a run of the engine."""
        if not self.has_engine(task):
            return self._tries
        return limits_of(self._agents[task.item.agent].limits, self._settings).calls * self._tries
