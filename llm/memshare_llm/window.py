"""The window of a chat model: how many tokens it takes at once, and whether a server cut what it was sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from memshare_broker.wire.messages import Turn, Usage

OTHERWISE = 32_000  # tokens, where neither the server nor a setting tells it
HOLDS = 300.0  # seconds for which it is known
ASK_AGAIN = 30.0  # seconds until a server that told nothing is asked again

VLLM, LLAMA_CPP = "vLLM: --max-model-len", "llama.cpp: -c, for all slots together"
OLLAMA = "Ollama: OLLAMA_CONTEXT_LENGTH, or num_ctx of the model"

SHORTEST_CUT = 4_000  # characters, of which it can be told that some were cut
FEWEST_PER_TOKEN = 10  # characters: no prompt has so many for a token


class Window(NamedTuple):
    """The tokens of a prompt and its answer together, and the setting of the server for more."""

    tokens: int
    setting: str = f"{VLLM}; {LLAMA_CPP}; {OLLAMA}"


class ModelWindow:
    """Asks for a window now and then: a server may load its model anew, with another one. Threads share it."""

    def __init__(self, ask: Callable[[], Window | None], otherwise: int | None = None) -> None:
        self._ask = ask
        self._known, self._until = Window(otherwise or OTHERWISE), 0.0
        self._asking = threading.Lock()

    def __call__(self) -> Window:
        if time.monotonic() >= self._until and self._asking.acquire(blocking=False):
            try:
                found = self._ask()
                self._known = found or self._known
                self._until = time.monotonic() + (HOLDS if found else ASK_AGAIN)
            finally:
                self._asking.release()
        return self._known


def was_cut(turns: Sequence[Turn], usage: Usage) -> bool:
    """Whether a server counted far fewer tokens than were sent: then it read a part of them."""
    sent = sum(len(turn.content) for turn in turns)
    return sent >= SHORTEST_CUT and 0 < usage.prompt_tokens < sent / FEWEST_PER_TOKEN
