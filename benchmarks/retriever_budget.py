"""What answering, grading and learning take for each memory that is stored; `benchmarks.retriever` reports it.

Counted are the prompts that the workers would send, made by their own code: the poem agent's with the memories that are
shown, the scorer's with its rubric, and the trainer's, where a memory becomes a lesson. A token is four characters, as
rate limits estimate it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memshare.agents.prompt import build_prompt
from memshare.broker.wire.messages import Turn
from memshare.llm.limits.rate_limited import estimate_tokens
from memshare.memory_service.memory import Memory
from memshare.scorer.grading import Pair, conversation
from memshare.scorer.rubric import Rubric

AGENT = "poem"


class Bill:
    """Counts calls and prompt tokens by what they were for."""

    def __init__(self, instructions: str, rubric: Rubric) -> None:
        self.memories = 0
        self._instructions, self._rubric = instructions, rubric
        self._calls: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()

    def stored(self, memory: Memory, shown: Sequence[Memory]) -> None:
        """Count the answer to a task and its grading, of which a memory came."""
        self.memories += 1
        prompt = memory.key
        self.called("answer", build_prompt(self._instructions, shown, [Turn(role="user", content=prompt)]))
        pair = Pair(None, prompt, memory.answer)
        self.called("grade", conversation(self._rubric, self._rubric.for_kind(None), pair))

    def called(self, what: str, turns: Sequence[Turn]) -> None:
        """Count one call."""
        self._calls[what] += 1
        self._tokens[what] += estimate_tokens(turns, 0)

    def figures(self) -> dict[str, object]:
        """Both for each memory, all together and by what they were for."""
        return {
            "calls_per_memory": round(self._calls.total() / self.memories, 3),
            "tokens_per_memory": round(self._tokens.total() / self.memories),
            "calls_by": {name: round(calls / self.memories, 3) for name, calls in self._calls.items()},
            "tokens_by": {name: round(tokens / self.memories) for name, tokens in self._tokens.items()},
            "memories_billed": self.memories,
        }
