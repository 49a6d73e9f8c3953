"""What a data folder tells the commands that are run on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memshare.operate.data_folder import tell_models
from memshare_broker.settings import Settings


def test_a_second_terminal_has_the_agents_of_what_runs_and_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSHARE_DATA", str(tmp_path))
    monkeypatch.delenv("MEMSHARE_AGENTS_DIR", raising=False)

    with tell_models(Settings(agents_dir=tmp_path / "agents")):
        assert Settings().agents_dir == tmp_path / "agents"

    assert Settings().agents_dir is None
