"""What the workers of an experiment find in their environment."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import sentinel

import pytest

from memshare.evaluation.evaluate import environment_for
from memshare.evaluation.request import ExperimentRequest
from memshare_broker.settings import load_settings


def test_an_experiment_has_the_users_settings_and_places_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('redis_url = "redis://production:6379/0"\nmodel_scorer = "mistral:small"\n')
    monkeypatch.setenv("MEMSHARE_CONFIG", str(file))
    monkeypatch.setenv("MEMSHARE_MEMORY_URL", "http://production:8077")
    request = ExperimentRequest(sentinel.experiment, [], sentinel.split, ("offline",), 0, tmp_path)
    before = dict(os.environ)

    with environment_for(tmp_path / "own", request, load_settings()):
        own = load_settings()

    assert own.data == tmp_path / "own" / "data"
    assert (own.redis_url, own.memory_url) == (None, None)
    assert (own.model_scorer, own.model_agents) == ("mistral:small", "offline")
    assert dict(os.environ) == before
