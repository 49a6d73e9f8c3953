"""What can be said of an encoder by its name, before it is opened."""

from __future__ import annotations

from memshare_broker.errors import BadInput
from memshare_llm.providers.endpoint import find_endpoint


def check_encoder_name(name: str | None) -> None:
    """Raise `BadInput` for an encoder of a server that has no name, or no key. Nobody is called."""
    provider, _, model = (name or "").partition(":")
    if provider != "openai":
        return
    if not model:
        raise BadInput(f"MEMSHARE_ENCODER={name!r} names no model: write openai:NAME.")
    find_endpoint("OPENAI", "https://api.openai.com/v1")
