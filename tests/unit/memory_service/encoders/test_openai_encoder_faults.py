"""Every fault of an embeddings server ends as an error that says what is wrong: in time, and in little memory."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from memshare_broker.errors import BadInput, TryAgain
from memshare_memory.encoders.openai_encoder import OpenAIEncoder
from tests.support.deployment import patient
from tests.support.model_faults import FAULTS, Fault, http
from tests.support.raw_server import raw_server

WRONG = {
    "vectors beyond counting": Fault(http(b'{"data":[' + b"{}," * 2_000_000 + b"{}]}"), "again"),
    "numbers beyond counting": Fault(
        http(b'{"data":[{"index":0,"embedding":[' + b'"x",' * 1_500_000 + b"0]}]}"), "again"
    ),
}


@pytest.mark.parametrize("fault", [pytest.param(fault, id=name) for name, fault in {**FAULTS, **WRONG}.items()])
def test_a_fault_ends_in_time_and_is_named(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with raw_server(fault.given()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.port}/v1")
        began = time.monotonic()

        with pytest.raises((TryAgain, BadInput), match="openai:small"):
            OpenAIEncoder("small", timeout=0.5 if fault.slow else 5)

        assert time.monotonic() - began < patient(3 if fault.slow else 10)


@pytest.mark.parametrize("fault", [pytest.param(fault, id=name) for name, fault in WRONG.items()])
def test_what_is_wrong_a_million_times_is_not_listed(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with raw_server(fault.given()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.port}/v1")
        tracemalloc.start()
        try:
            with pytest.raises(TryAgain, match="no list of embeddings"):
                OpenAIEncoder("small", timeout=10)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak < 100_000_000
