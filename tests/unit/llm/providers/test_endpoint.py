from __future__ import annotations

import pytest

from memshare_broker.errors import BadInput
from memshare_llm.providers.endpoint import find_endpoint

OWN = "https://api.example.com/v1"


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
    monkeypatch.setenv("ACME_API_KEY", key)
    monkeypatch.setenv("ACME_BASE_URL", address)

    assert find_endpoint("ACME", OWN) == found


def test_neither_is_refused_with_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "")
    monkeypatch.delenv("ACME_BASE_URL", raising=False)

    with pytest.raises(BadInput, match=r"ACME_API_KEY is not set.*ACME_BASE_URL.*another model"):
        find_endpoint("ACME", OWN)
