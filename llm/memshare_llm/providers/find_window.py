"""Asks a model's server how many tokens it takes at once: vLLM, llama.cpp, Ollama, and who lists it with its models."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import httpx2

from memshare_llm.chat import LLAMA_CPP, OLLAMA, VLLM, Window
from memshare_llm.providers.endpoint import OWN, find_endpoint
from memshare_llm.providers.http_client import open_client

ASK_WITHIN = 5.0  # seconds for each question
LARGEST = 100_000_000  # tokens
UNSAID = 4_096  # tokens: what Ollama gives a model on a machine without a large GPU, unless it is told otherwise
_LISTED = {"max_model_len": VLLM, "context_length": "", "context_window": "", "max_context_length": ""}
"""The names that it has in lists of models, and the setting of the server that lists it so."""

Ask = Callable[..., dict[str, Any]]


def find_window(provider: str, model: str) -> Window | None:
    """The window of a provider's model; None where its server tells nothing, or is away."""
    key, address = find_endpoint(provider)
    root, headers = address.rstrip("/").removesuffix("/v1"), {"Authorization": f"Bearer {key}"}
    with open_client(timeout=ASK_WITHIN, connections=1) as http:

        def ask(path: str, body: Mapping[str, str] | None = None) -> dict[str, Any]:
            method = "POST" if body else "GET"
            try:
                reply = http.request(method, f"{root}{path}", json=body, headers=headers)
                return _dict(json.loads(reply.content)) if reply.status_code == 200 else {}
            except (httpx2.RequestError, ValueError, RecursionError):
                return {}

        listed = _list(ask("/v1/models").get("data"))
        named = [one for one in listed if one.get("id") == model] or (listed if len(listed) == 1 else [{}])
        for entry in (named[0], ask(f"/v1/models/{quote(model)}") if provider == "mistral" else {}):
            for name, setting in _LISTED.items():
                if size := _size(entry.get(name)):
                    return Window(size, setting)
        if address == OWN[provider]:
            return None
        size = _size(_dict(ask("/props").get("default_generation_settings")).get("n_ctx"))
        return Window(size, LLAMA_CPP) if size else _of_ollama(ask, model)


def _of_ollama(ask: Ask, model: str) -> Window | None:
    """Of the model as it is loaded, else as its file has it run, else as Ollama loads those that say nothing."""
    loaded = [
        _size(one.get("context_length"))
        for one in _list(ask("/api/ps").get("models"))
        if model in (one.get("name"), str(one.get("name")).removesuffix(":latest"))
    ]
    shown = ask("/api/show", {"model": model})
    told = re.search(r"^num_ctx\s+(\d{1,9})\s*$", str(shown.get("parameters") or ""), re.MULTILINE)
    made_for = [_size(one) for name, one in _dict(shown.get("model_info")).items() if name.endswith(".context_length")]
    unsaid = [min(size, UNSAID) for size in made_for if size]
    size = next(filter(None, [*loaded, int(told[1]) if told else None, *unsaid]), None)
    return Window(size, OLLAMA) if size else None


def _size(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST else None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
