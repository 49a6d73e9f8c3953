from __future__ import annotations

import pytest

from memshare_broker.errors import BadInput
from memshare_llm.providers.endpoint import OWN as OWN_ADDRESSES
from memshare_llm.providers.endpoint import find_endpoint, is_private

OWN = OWN_ADDRESSES["mistral"]


@pytest.mark.parametrize(
    ("key", "address", "found"),
    [
        ("secret", "", ("secret", OWN)),
        (" secret\n", " ", ("secret", OWN)),
        ("secret", "http://localhost:1/v1", ("secret", "http://localhost:1/v1")),
        ("", "http://localhost:1/v1", ("none", "http://localhost:1/v1")),
    ],
)
def test_a_key_or_an_address_is_enough(
    key: str, address: str, found: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", key)
    monkeypatch.setenv("MISTRAL_BASE_URL", address)

    assert find_endpoint("mistral") == found


@pytest.mark.parametrize(
    ("address", "private"),
    [
        ("http://127.0.0.1:8080/v1", True),
        ("http://[::1]:8080/v1", True),
        ("http://localhost:11434/v1", True),
        ("http://ollama:11434/v1", True),
        ("https://10.1.2.3/v1", True),
        ("http://vllm.models.svc/v1", True),
        ("https://openrouter.ai/api/v1", False),
        ("https://8.8.8.8/v1", False),
        (OWN, False),
    ],
)
def test_a_server_is_private_by_its_address(address: str, private: bool) -> None:
    assert is_private(address) is private


def test_neither_is_refused_with_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "")
    monkeypatch.delenv("MISTRAL_BASE_URL", raising=False)

    with pytest.raises(BadInput, match=r"MISTRAL_API_KEY is not set.*MISTRAL_BASE_URL.*another model"):
        find_endpoint("mistral")
