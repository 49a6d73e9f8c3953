"""Opens the encoder of a name: a model in ONNX Runtime or in torch, or a server of embeddings."""

from __future__ import annotations

import logging
from pathlib import Path

from memshare_memory.encoders.encoder import BUNDLED, Encoder, check_encoder_name
from memshare_memory.encoders.export_folder import exported
from memshare_memory.encoders.sentence_encoder import runs_in_torch

log = logging.getLogger(__name__)


def open_encoder(name: str | None, *, device: str | None = None, timeout: float, exports: Path) -> Encoder:
    """The encoder of a name: `openai:MODEL`, a sentence-transformers model or folder, or the bundled one for none.

    `device` is the torch device of a sentence-transformers model, `timeout` the seconds that one call to a server
    may take, `exports` the folder in which exported models are kept. Raises `BadInput` for what cannot be opened, and
    `TryAgain` if a server does not answer now.
    """
    # What an encoder runs on takes up to seconds to import, so it is imported where it is used.
    check_encoder_name(name)
    provider, _, model = (name or "").partition(":")
    if provider != "openai":
        return open_model(name, device=device, exports=exports)
    from memshare_memory.encoders.openai_encoder import OpenAIEncoder

    return OpenAIEncoder(model, timeout=timeout)


def open_model(path: str | None, *, name: str | None = None, device: str | None, exports: Path) -> Encoder:
    """The encoder of a sentence-transformers folder, a name of the model hub, or the bundled one for none.

    `name` is what stands beside its vectors where that is not `path`. The first to open a model on a processor exports
    it into the folder `exports`, which takes some seconds; torch is imported in a process of its own for that. Raises
    `BadInput` for what cannot be loaded.
    """
    if not runs_in_torch(device):
        export = exported(path, name, exports)
        if export.settings.refused is None:
            from memshare_memory.encoders.onnx_encoder import OnnxEncoder

            return OnnxEncoder(export, name or path or BUNDLED)
        log.warning(
            "The encoder %s runs in torch, which takes longer to start and several hundred MB more: it has no export"
            " for ONNX Runtime, because %s. Remove %s to have that tried again.",
            name or path or BUNDLED,
            export.settings.refused,
            export.folder,
        )
        device = "cpu"
    from memshare_memory.encoders.sentence_encoder import SentenceTransformerEncoder

    return SentenceTransformerEncoder(path, name=name, device=device)
