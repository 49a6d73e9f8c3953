"""Models of servers of one's own, by the replies that the servers document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memshare.operate.preflight import try_models
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from tests.support.chat_script import Answer
from tests.support.chat_server import ChatServer, serving
from tests.support.terminal import Terminal


class Server(NamedTuple):
    """A server as it documents itself: its list, a model that it answers for, and its words for one it has not."""

    listed: dict[str, Any]
    model: str
    refusal: tuple[int, dict[str, Any]] | None
    """None: it answers whatever the name."""


def _listed(*names: str, **fields: Any) -> dict[str, Any]:
    models = [{"id": one, "object": "model", "created": 1_686_935_002, **fields} for one in names]
    return {"object": "list", "data": models}


SERVERS = {
    "Ollama": Server(
        _listed("qwen3:latest", "llama3.2:3b", owned_by="library"),
        "qwen3",
        (
            404,
            {"error": {"message": 'model "qwen9" not found, try pulling it first', "type": "api_error", "code": None}},
        ),
    ),
    "vLLM": Server(
        _listed("Qwen/Qwen3-8B", owned_by="vllm", root="Qwen/Qwen3-8B", max_model_len=40_960, permission=[]),
        "Qwen/Qwen3-8B",
        (
            404,
            {"object": "error", "message": "The model `qwen9` does not exist.", "type": "NotFoundError", "code": 404},
        ),
    ),
    "llama.cpp": Server(
        _listed("../models/qwen3-8b-q4_k_m.gguf", owned_by="llamacpp", meta={"n_ctx_train": 40_960}), "any", None
    ),
    "OpenRouter": Server(
        {"data": [{"id": "qwen/qwen3-8b", "name": "Qwen3 8B", "pricing": {"prompt": "0.00000003"}}]},
        "qwen/qwen3-8b",
        (400, {"error": {"message": "qwen9 is not a valid model ID", "code": 400}, "user_id": "user_1"}),
    ),
    "LM Studio": Server(
        _listed("qwen3-8b", "text-embedding-nomic-embed-text-v1.5", owned_by="organization_owner"),
        "qwen3-8b",
        (404, {"error": {"message": 'Failed to load model "qwen9".', "code": "model_not_found", "param": "model"}}),
    ),
}


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Server:
    return SERVERS[request.param]


@pytest.fixture
def running(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    def script(body: dict[str, Any]) -> Answer:
        if server.refusal is None or body["model"] == server.model:
            return Answer()
        status, words = server.refusal
        return Answer(status=status, raw=json.dumps(words).encode())

    with serving(script) as running:
        running.models = json.dumps(server.listed).encode()
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        yield running


@pytest.mark.parametrize("lists", [True, False])
def test_a_model_that_a_server_answers_for_is_taken_after_one_call(
    server: Server, running: ChatServer, lists: bool
) -> None:
    if not lists:
        running.models = None

    assert try_models(Settings(model=f"openai:{server.model}"), [f"openai:{server.model}", "offline"]) == []

    assert [body["model"] for body in running.requests] == [server.model]


def test_a_model_that_a_server_has_not_is_refused_with_the_setting_and_those_it_has(
    server: Server, running: ChatServer
) -> None:
    name = "openai:qwen9"
    if server.refusal is None:
        assert try_models(Settings(model=name), [name]) == []
        return

    with pytest.raises(BadInput) as refused:
        try_models(Settings(model_scorer=name), [name])

    said = str(refused.value)
    assert all(one["id"] in said for one in server.listed["data"])
    assert all(word in said for word in (name, "MEMSHARE_MODEL_SCORER", running.url, "qwen9"))


@pytest.mark.parametrize(
    ("key", "status", "expected", "never"),
    [
        ("bad", 401, ("refuses the key in OPENAI_API_KEY", "MEMSHARE_MODEL:", "Set OPENAI_API_KEY"), "NAME"),
        ("", 403, ("refuses calls without a key", "Set OPENAI_API_KEY"), "NAME"),
        ("good", 422, ("lists and refuses the model", "MEMSHARE_MODEL=openai:NAME"), "It has:"),
    ],
)
def test_a_model_that_is_listed_and_refused_is_not_said_to_be_missing_and_the_key_is_named(
    key: str, status: int, expected: tuple[str, ...], never: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with serving(lambda _: Answer(status=status, text="Not with this.")) as running:
        running.models = json.dumps(_listed("fake-1")).encode()
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        with pytest.raises(BadInput) as refused:
            try_models(Settings(model="openai:fake-1"), ["openai:fake-1"])

    said = str(refused.value)
    assert all(one in said for one in (*expected, f"answered {status}: Not with this. "))
    assert all(one not in said for one in (never, "does not serve", "It has:"))


@pytest.mark.parametrize("end", ["", "/v1/", "/v1/chat/completions"])
def test_an_address_that_does_not_end_in_v1_is_named_and_not_the_model_alone(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(lambda _: Answer(status=404, text="no such model")) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{running.url.removesuffix('/v1')}{end}")
        with pytest.raises(BadInput) as refused:
            try_models(Settings(model="openai:qwen3"), ["openai:qwen3"])

    assert ("OPENAI_BASE_URL should end in /v1" in str(refused.value)) is (end != "/v1/")


def test_a_server_that_is_away_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as gone:
        monkeypatch.setenv("OPENAI_BASE_URL", gone.url)

    [warning] = try_models(Settings(), ["openai:qwen3"])

    assert gone.url in warning


def test_a_quota_that_is_used_up_is_a_warning_in_the_servers_words(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda _: Answer(status=429, text="You exceeded it.", code="insufficient_quota")) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        [warning] = try_models(Settings(), ["openai:qwen3"])

    assert all(one in warning for one in ("quota", running.url, "You exceeded it."))
    assert "OPENAI_API_KEY" not in warning


def test_up_does_not_start_with_a_model_that_its_server_has_not(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    with serving(lambda _: Answer(status=404, text="no such model")) as chat:
        chat.models = json.dumps(_listed("qwen3:latest")).encode()
        terminal.environment |= {"OPENAI_BASE_URL": chat.url, "MEMSHARE_MODEL": "openai:qwen9"}
        refused = terminal.run("up", "--port", "0", "--flower-port", "0", code=2).stderr

    assert "qwen3:latest" in refused
    assert not (tmp_path / "redis").exists()
