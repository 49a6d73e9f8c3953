from __future__ import annotations

import subprocess
import sys

import pytest

from memshare_broker.errors import BadInput
from memshare_llm.models import open_chat

# In a process of its own, because another test may have imported the SDKs already.
_IMPORTED = """
import sys
from memshare_llm.models import open_chat
open_chat({name!r}, timeout=1, connections=1)
print(*sorted({{"openai", "mistralai", "httpx2"}} & set(sys.modules)))
"""


@pytest.mark.parametrize("name", ["", "gpt-4", "openai", "openai:", "mistral:", "offline:x", "claude:x"])
def test_an_unknown_name_is_refused_with_the_known_forms(name: str) -> None:
    with pytest.raises(BadInput, match="write openai:MODEL, mistral:MODEL, or offline for none") as caught:
        open_chat(name, timeout=1, connections=1)

    assert repr(name) in str(caught.value)


@pytest.mark.parametrize("name", ["openai:a", "mistral:a", "openai:org/model:7b", "offline"])
def test_a_model_is_opened_by_its_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("MISTRAL_API_KEY", "test")

    assert open_chat(name, timeout=1, connections=1).name == name


@pytest.mark.parametrize(
    ("name", "imported"),
    [("offline", ""), ("openai:a", "httpx2 openai"), ("mistral:a", "httpx2 mistralai")],
)
def test_only_the_sdk_that_is_used_is_imported(name: str, imported: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    monkeypatch.setenv("MISTRAL_API_KEY", "test")

    ran = subprocess.run(
        [sys.executable, "-c", _IMPORTED.format(name=name)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip

    assert ran.stdout.strip() == imported
