"""Where an encoder runs: on a GPU if there is one, and else on the processor."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from memshare_broker.errors import BadInput

# NVIDIA, NVIDIA under WSL, NVIDIA Jetson, AMD: the device files that torch needs, whatever else is installed.
GPU_FILES = ("nvidia[0-9]*", "dxg", "nvhost-gpu", "kfd")


def runs_in_torch(device: str | None) -> bool:
    """Whether `MEMSHARE_DEVICE` names a GPU, or names nothing and there is one. Raises nothing for one that is missing.

    torch, which takes seconds to import, is asked only where the machine looks as if it had one.
    """
    if device is not None:
        return device != "cpu"
    return may_have_gpu() and torch_device(None) != "cpu"


def may_have_gpu(devices: Path = Path("/dev"), torch: str | None = None) -> bool:
    """Whether torch could find a GPU: an Apple one, or a device file of another, and a torch that is not CPU-only.

    `torch` is its version, if not that of the one that is installed.
    """
    if platform.system() == "Darwin":
        return platform.machine() == "arm64"
    return not _is_cpu_only(torch) and any(True for pattern in GPU_FILES for _ in devices.glob(pattern))


def torch_device(name: str | None) -> str:
    """The torch device of `MEMSHARE_DEVICE`; without one, a GPU if there is one and else the processor.

    Raises `BadInput` for a device that this machine does not have.
    """
    import torch

    graphics = torch.cuda.device_count() if torch.cuda.is_available() else 0
    apple = torch.backends.mps.is_available()
    if name is None:
        return "cuda" if graphics else "mps" if apple else "cpu"
    kind, _, number = name.partition(":")
    if (kind == "cuda" and int(number or 0) >= graphics) or (kind == "mps" and not apple):
        raise BadInput(
            f"MEMSHARE_DEVICE={name!r} is not on this machine: torch sees {graphics} CUDA GPUs"
            f"{' and mps' if apple else ''}. Leave it unset to use what there is."
        )
    return name


def _is_cpu_only(torch: str | None) -> bool:
    try:
        return (torch or version("torch")).endswith("+cpu")
    except PackageNotFoundError:
        return True
