"""Chat models by name."""

from __future__ import annotations

import re

from memshare_broker.errors import BadInput
from memshare_broker.settings import OFFLINE
from memshare_broker.settings_file import PROVIDERS
from memshare_llm.chat import BatchApi, Chat
from memshare_llm.no_model import NoModel
from memshare_llm.providers.endpoint import find_endpoint

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
        from memshare_llm.providers.openai_batch import OpenAIBatches

        return OpenAIBatches(model, timeout=timeout, connections=1, longest=LONGEST_BATCH)
    if provider == "mistral":
        from memshare_llm.providers.mistral_batch import MistralBatches

        return MistralBatches(model, timeout=timeout, connections=1, longest=LONGEST_BATCH)
    return None
