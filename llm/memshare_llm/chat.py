"""The door to chat models."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from memshare_broker.errors import GiveUp, NotYet, Reason, TryAgain
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
    """True if a server counted far fewer tokens than were sent, so that it read only a part of them."""
    sent = sum(len(turn.content) for turn in turns)
    return sent >= SHORTEST_CUT and 0 < usage.prompt_tokens < sent / FEWEST_PER_TOKEN


CHARACTERS_PER_TOKEN = 4


class UselessReply(TryAgain):
    """A reply that cannot be used, where another may do; `usage` is the tokens that it took all the same."""

    def __init__(self, message: str, reason: Reason, usage: Usage) -> None:
        super().__init__(message, reason=reason)
        self.usage = usage


class RefusedReply(GiveUp):
    """A reply that cannot be used, and no other would be; `usage` is the tokens that it took all the same."""

    def __init__(self, message: str, reason: Reason, usage: Usage) -> None:
        super().__init__(message, reason)
        self.usage = usage


class NoLogprobs(GiveUp):
    """The provider or the model does not tell the probabilities of its tokens; `usage` is what finding out took."""

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage or Usage()


class Deferred(NotYet):
    """A call was asked by a provider's Batch API, and has no reply yet."""


class BatchJob(NamedTuple):
    """State of a job of a Batch API: whether it has ended, in the provider's word, and the files of its replies."""

    has_ended: bool
    status: str
    files: tuple[str, ...] = ()


class Reply(BaseModel):
    """A model's reply, the name the model goes by (`openai:gpt-…`), and the tokens it took.

    `reasoning` is what it wrote to find its answer, which is no part of that.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    model: str
    usage: Usage
    reasoning: str = ""


class FirstToken(BaseModel):
    """The tokens that a reply was likeliest to begin with: the text of each as it came, and its probability.

    They are at most 20, so their probabilities may sum to less than 1.
    """

    model_config = ConfigDict(frozen=True)

    probabilities: dict[str, float]
    model: str
    usage: Usage


R = TypeVar("R", Reply, FirstToken)


class ChatCall(NamedTuple):
    """Request to a model: the next turn, as text or by a schema, or how it would begin."""

    turns: Sequence[Turn]
    schema: type[BaseModel] | None = None
    first_token: bool = False

    @property
    def kind(self) -> str:
        """The kind of reply, by name: calls of one kind fail alike."""
        return "first token" if self.first_token else self.schema.__name__ if self.schema else "text"

    def estimate(self, completion: float = 0) -> int:
        """The tokens that the call may take: its prompt by its length, and a completion of so many."""
        characters = sum(len(turn.content) for turn in self.turns)
        return characters // CHARACTERS_PER_TOKEN + round(1 if self.first_token else completion)


class Chat(Protocol):
    """A chat model. A call ends within the time it was given, or raises `TryAgain` or `GiveUp`."""

    name: str

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        """The next turn of a conversation; with `schema`, JSON text that is meant to fit it.

        Nothing about the text is promised: `memshare_llm.structured.ask` validates it.
        """
        ...

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:
        """How the next turn of a conversation would begin; raises `NoLogprobs` where this is not told."""
        ...


class BatchApi(Protocol):
    """A provider's Batch API for one model. Raises `GiveUp` where there is none, and `TryAgain` where it is away."""

    name: str

    def request(self, turns: Sequence[Turn], schema: type[BaseModel] | None) -> dict[str, object]:
        """The body of the request for a reply."""
        ...

    def read(self, body: str | bytes, schema: type[BaseModel] | None) -> Reply:
        """The reply in a completion; raises as a chat's `reply` does."""
        ...

    def submit(self, name: str, requests: Mapping[str, object]) -> str:
        """Hand in requests by name as one job; returns its id."""
        ...

    def find(self, name: str) -> str | None:
        """The id of the job of this name, if it is one of the newest."""
        ...

    def job(self, job: str) -> BatchJob:
        """The state of a job."""
        ...

    def download(self, file: str) -> bytes:
        """A file of replies."""
        ...


class ChatAround(ABC):
    """The parent of what does something with every call to another chat model, of which it has the name."""

    def __init__(self, chat: Chat) -> None:
        self.name = chat.name
        self._chat = chat

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        return self._call(lambda: self._chat.reply(turns, schema), ChatCall(turns, schema))

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:
        return self._call(lambda: self._chat.first_token(turns), ChatCall(turns, first_token=True))

    @abstractmethod
    def _call(self, call: Callable[[], R], asked: ChatCall) -> R:
        """Make the call, and do what is to be done with it."""
