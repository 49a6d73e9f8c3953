"""The process that exports a model: `python -m memshare_memory.encoders.export MODEL NAME FOLDER`.

An empty MODEL is the bundled one, an empty NAME says that the model goes by MODEL. It is written aside, checked against
sentence-transformers, and renamed.
"""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from memshare_broker.errors import BadInput
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.encoders.onnx_encoder import (
    GRAPH,
    SETTINGS,
    TOKENIZER,
    UNLOADABLE,
    Export,
    ExportSettings,
    OnnxEncoder,
    file_hash,
    read_export,
)
from memshare_memory.encoders.sentence_encoder import load_model

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

OPSET = 18
INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
# Of two lengths, so that the graph has padding in it.
EXAMPLES = ["Is this the same?", "A longer text shows that neither size is fixed."]
LEAST_COSINE = 1 - 1e-4
LONGEST_OFF = 1e-3  # how far a vector's length may be from 1
TEXTS = (
    "a lamp by the sea",
    "x",
    "",
    "Write a limerick about a Cat who could not stand the RAIN!",
    "以秋夜江边为题，写一首五言律诗。",
    "Écris un poème sur l'été; ¿y por qué no en español?",
    "Напиши короткое стихотворение о море.",
    "اكتب قصيدة قصيرة عن البحر",
    "An emoji 🌊, a tab\tand a line\nbreak; code: `x = f(a[0])`, and https://example.org/?q=1.",
    "How many words does it take to fill a window? " * 12,
    "Every text that is longer than the longest that a model reads is cut off at the same token. " * 60,
)


def export(path: str | None, name: str | None, folder: Path) -> None:
    """Export a model into a folder, unless another process has done it meanwhile.

    What cannot be exported, or gives other vectors then, is written down as refused. Raises `BadInput` for a model
    that cannot be loaded.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f".{folder.name}.lock")):  # it ends with its process, however that ends
        if read_export(folder):
            return
        model = load_model(path, name, "cpu")
        aside = folder.with_name(f".{folder.name}.part")
        shutil.rmtree(aside, ignore_errors=True)  # from one that was killed
        aside.mkdir()
        _write(model, aside)
        if folder.exists():
            shutil.rmtree(folder)  # a damaged one
        aside.rename(folder)
        _sync(folder.parent)


def _write(model: SentenceTransformer, folder: Path) -> None:
    prompt = model.prompts.get(model.default_prompt_name or "") or ""
    try:
        expected = reference_vectors(model)
        _write_graph(model, prompt, folder / GRAPH)
        (folder / TOKENIZER).write_text(model.tokenizer.backend_tokenizer.to_str(), encoding="utf-8")
        files = {file.name: file_hash(file) for file in sorted(folder.iterdir())}
        settings = ExportSettings(dimension=expected.shape[1], prompt=prompt, files=files)
        refused = why_refused(OnnxEncoder(Export(folder, settings), "exported"), expected)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - exporters raise anything, and torch runs the model all the same
        refused = f"{type(error).__name__}: {error}".splitlines()[0]
    if refused:
        for file in folder.iterdir():
            file.unlink()
        settings = ExportSettings(refused=refused)
    (folder / SETTINGS).write_text(settings.model_dump_json(indent=2), encoding="utf-8")
    for file in [*folder.iterdir(), folder]:
        _sync(file)


def _write_graph(model: SentenceTransformer, prompt: str, file: Path) -> None:
    """Write the graph of a model in single precision; `prompt` is what it puts before every text.

    Its tokenizer then truncates and pads as the model has it. Raises `ValueError` where the model takes more than
    tokens, and whatever torch raises for what has no counterpart in ONNX.
    """
    import torch  # who waited for another process does not need it

    class Pipeline(torch.nn.Module):
        """All modules of a model behind each other, with tokens by position, as an export wants it."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *values: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = model({**dict(zip(tokens, values, strict=True)), **others})["sentence_embedding"]
            return torch.nn.functional.normalize(found[:, : model.truncate_dim], p=2, dim=1)

    features = model.preprocess(EXAMPLES, prompt=prompt or None)
    tokens = {name: value for name, value in features.items() if isinstance(value, torch.Tensor)}
    others = {name: value for name, value in features.items() if name not in tokens}
    if not {"input_ids", "attention_mask"} <= tokens.keys() <= INPUTS:
        raise ValueError(f"it takes {', '.join(sorted(tokens))}, and not tokens with their mask alone")
    transformer: Any = getattr(model[0], "model", None)
    if hasattr(transformer, "set_attn_implementation"):
        transformer.set_attn_implementation("eager")  # the same numbers by a third fewer nodes
    sizes = {name: {0: "texts", 1: "tokens"} for name in tokens}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter warns of its successor, which needs a second library
        torch.onnx.export(
            Pipeline(),
            tuple(tokens.values()),
            str(file),
            input_names=list(tokens),
            output_names=["vectors"],
            dynamic_axes={**sizes, "vectors": {0: "texts"}},
            opset_version=OPSET,
            dynamo=False,
        )


def _sync(path: Path) -> None:
    """Have a file or folder written to the disk before going on."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def main(model: str, name: str, folder: str) -> int:
    try:
        export(model or None, name or None, Path(folder))
    except BadInput as error:
        print(error)
        return UNLOADABLE
    return 0


def reference_vectors(model: SentenceTransformer) -> NDArray[np.float32]:
    found = model.encode(list(TEXTS), normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(found, dtype=np.float32)


def why_refused(encoder: Encoder, expected: NDArray[np.float32]) -> str | None:
    """How an encoder's vectors of the texts, together and one by one, differ from the expected ones; None if not."""
    for found in (encoder.encode(TEXTS), np.concatenate([encoder.encode([text]) for text in TEXTS])):
        cosines = (found * expected).sum(axis=1)
        lengths = np.linalg.norm(found, axis=1)
        if not (cosines > LEAST_COSINE).all():
            return f"its vectors are not those of sentence-transformers: a cosine is {cosines.min():.5f}"
        if not (abs(lengths - 1) < LONGEST_OFF).all():
            return f"its vectors are not of length 1: a length is {lengths[abs(lengths - 1).argmax()]:.5f}"
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
