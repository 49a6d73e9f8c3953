"""Chat models by name, and what stands in where none is set."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import BaseModel

from memshare_broker.errors import BadInput, GiveUp
from memshare_broker.settings import OFFLINE, Role, Settings
from memshare_broker.settings_file import PROVIDERS
from memshare_broker.wire.messages import Turn
from memshare_llm.chat import BatchApi, Chat, FirstToken, Reply
from memshare_llm.providers.endpoint import find_endpoint

HOW_TO_SET = (
    "Set OPENAI_API_KEY or MISTRAL_API_KEY; or, for a server of your own, MEMSHARE_MODEL and its address, such as "
    "OPENAI_BASE_URL=http://localhost:11434/v1 MEMSHARE_MODEL=openai:qwen3"
)

NONE_SET = f"There is no chat model. {HOW_TO_SET}."


class NoModelSet(GiveUp):
    """There is no model, and what was asked for takes one."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "no model")


class NoModel:
    """Stands in where no model is set. It can be opened and asked for its name, and answers nothing."""

    name = OFFLINE

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:  # noqa: ARG002
        raise NoModelSet(NONE_SET)

    def first_token(self, turns: Sequence[Turn]) -> FirstToken:  # noqa: ARG002
        raise NoModelSet(NONE_SET)


def has_model(chat: Chat) -> bool:
    """True if there is a model behind it, which can be called."""
    return chat.name != OFFLINE


def require_model(settings: Settings, role: Role, what: str) -> None:
    """Raise `BadInput` where a role has no model and `what`, the subject of a sentence, needs one."""
    if settings.model_for(role) == OFFLINE:
        raise BadInput(needs_model(what))


def needs_model(what: str) -> str:
    """The sentence that says so, and how to set one."""
    return f"{what} needs a chat model, and none is set. {HOW_TO_SET}."


LONGEST_BATCH = 64_000_000  # bytes of a file of replies


def server_of(model: str) -> str:
    """The address of the server that has a model: what its calls of all models share."""
    return re.sub(r"//[^/]*@", "//", find_endpoint(model.partition(":")[0])[1])


def open_chat(name: str, *, timeout: float, connections: int) -> Chat:
    """The chat model of a name: PROVIDER:MODEL, such as `openai:MODEL`, or `offline` for none.

    `timeout` is for a whole call in seconds; `connections` is how many threads may call at once. Connects to
    nothing. Raises `BadInput` for any other name, and for a provider whose key is missing.
    """
    provider, _, model = name.partition(":")
    # Each provider's SDK takes a second to import, so it is imported where it is used.
    if provider == "openai" and model:
        from memshare_llm.providers.openai_chat import OpenAIChat

        return OpenAIChat(model, timeout=timeout, connections=connections)
    if provider == "mistral" and model:
        from memshare_llm.providers.mistral_chat import MistralChat

        return MistralChat(model, timeout=timeout, connections=connections)
    if name == OFFLINE:
        return NoModel()
    expected = ", ".join(f"{one}:MODEL" for one in PROVIDERS)
    raise BadInput(f"Unknown chat model {name!r}: write {expected}, or {OFFLINE} for none.")


def open_batch_api(name: str, *, timeout: float) -> BatchApi | None:
    """The Batch API of a model's provider; None for `offline`. Connects to nothing, and raises as `open_chat` does."""
    provider, _, model = name.partition(":")
    if provider == "openai":
        from memshare_llm.providers.openai_chat import OpenAIBatches

        return OpenAIBatches(model, timeout=timeout, connections=1, longest=LONGEST_BATCH)
    if provider == "mistral":
        from memshare_llm.providers.mistral_chat import MistralBatches

        return MistralBatches(model, timeout=timeout, connections=1, longest=LONGEST_BATCH)
    return None
