from __future__ import annotations

import json
from typing import Any

import pytest

from memshare_llm.chat import LLAMA_CPP, OLLAMA, VLLM, Window
from memshare_llm.providers.http_client import find_window
from tests.support.chat_server import serving

LLAMA = {"default_generation_settings": {"n_ctx": 4_096}}
LOADED = {"models": [{"name": "other:latest", "context_length": 1}, {"name": "small:latest", "context_length": 8_192}]}
SHOWN = {"parameters": "stop  <end>\nnum_ctx    6144", "model_info": {"qwen2.context_length": 32_768}}


def listed(**fields: object) -> bytes:
    return json.dumps({"data": [{"id": "large", "max_model_len": 9}, {"id": "small", **fields}]}).encode()


@pytest.mark.parametrize(
    ("models", "pages", "window"),
    [
        (listed(max_model_len=16_384), {}, Window(16_384, VLLM)),
        (listed(context_length=131_072), {}, Window(131_072, "")),
        (listed(meta={"n_ctx_train": 32_768}), {"/props": LLAMA}, Window(4_096, LLAMA_CPP)),
        (listed(owned_by="library"), {"/api/ps": LOADED, "/api/show": SHOWN}, Window(8_192, OLLAMA)),
        (listed(owned_by="library"), {"/api/ps": {"models": []}, "/api/show": SHOWN}, Window(6_144, OLLAMA)),
        (listed(), {"/api/show": SHOWN | {"parameters": None}}, Window(4_096, OLLAMA)),
        (None, {"/props": LLAMA}, Window(4_096, LLAMA_CPP)),
        (listed(), {}, None),
        (None, {}, None),
        (b"[]", {"/props": [], "/api/ps": {"models": [5, {}]}, "/api/show": {"model_info": []}}, None),
        (listed(max_model_len="many", context_length=-5), {"/props": {"default_generation_settings": 3}}, None),
        (b"}{", {"/props": {"default_generation_settings": {"n_ctx": True}}}, None),
    ],
)
def test_a_server_tells_the_window_of_its_model_in_its_own_way(
    models: bytes | None, pages: dict[str, Any], window: Window | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as server:
        server.models, server.pages = models, pages
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

        assert find_window("openai", "small") == window


def test_the_only_model_of_a_server_goes_by_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server:
        server.models = json.dumps({"data": [{"id": "m.gguf", "max_model_len": 2_048}]}).encode()
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

        assert find_window("openai", "small") == Window(2_048, VLLM)


def test_a_model_of_mistral_tells_it_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server:
        server.pages = {"/v1/models/small": {"id": "small", "max_context_length": 131_072}}
        monkeypatch.setenv("MISTRAL_BASE_URL", server.url)

        assert find_window("mistral", "small") == Window(131_072, "")


def test_a_server_that_is_away_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

    assert find_window("openai", "small") is None
