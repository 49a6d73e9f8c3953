from __future__ import annotations

import platform
from pathlib import Path

import pytest
import torch

from memshare_memory.encoders.sentence_encoder import may_have_gpu, runs_in_torch, torch_device

NOT_APPLE = pytest.mark.skipif(platform.system() == "Darwin", reason="an Apple machine has no such device files")


def test_without_a_device_a_gpu_is_used_where_there_is_one() -> None:
    there = torch.cuda.is_available() or torch.backends.mps.is_available()

    assert (torch_device(None) == "cpu") is not there
    assert runs_in_torch(None) is there
    assert torch_device("cpu") == "cpu"


def test_a_device_that_is_named_says_what_the_encoder_runs_in() -> None:
    assert [runs_in_torch(device) for device in ("cpu", "cuda", "cuda:1", "mps")] == [False, True, True, True]


@NOT_APPLE
@pytest.mark.parametrize("file", ["nvidia0", "dxg", "nvhost-gpu", "kfd"])
def test_the_device_file_of_a_gpu_is_reason_to_ask_torch(tmp_path: Path, file: str) -> None:
    (tmp_path / "nvidiactl").touch()  # is there without a GPU, too
    assert not may_have_gpu(tmp_path, torch="2.13.0")

    (tmp_path / file).touch()

    assert may_have_gpu(tmp_path, torch="2.13.0")


@NOT_APPLE
def test_a_torch_for_processors_alone_is_not_asked_for_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "nvidia0").touch()

    assert not may_have_gpu(tmp_path, torch="2.13.0+cpu")
