"""Writes a whole sentence-transformers model, from tokens to vectors of length 1, as one ONNX graph."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer

OPSET = 18
INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
# Of two lengths, so that the graph has padding in it.
EXAMPLES = ["Is this the same?", "A longer text shows that neither size is fixed."]


def write_graph(model: SentenceTransformer, prompt: str, file: Path) -> None:
    """Write the graph of a model in single precision; `prompt` is what it puts before every text.

    Its tokenizer then truncates and pads as the model has it. Raises `ValueError` where the model takes more than
    tokens, and whatever torch raises for what has no counterpart in ONNX.
    """
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
            _Pipeline(model, list(tokens), others),
            tuple(tokens.values()),
            str(file),
            input_names=list(tokens),
            output_names=["vectors"],
            dynamic_axes={**sizes, "vectors": {0: "texts"}},
            opset_version=OPSET,
            dynamo=False,
        )


class _Pipeline(torch.nn.Module):
    """All modules of a model behind each other, with tokens by position, as an export wants it."""

    def __init__(self, model: SentenceTransformer, names: Sequence[str], others: Mapping[str, Any]) -> None:
        super().__init__()
        self.model = model
        self.names = names
        self.others = others

    def forward(self, *tokens: torch.Tensor) -> torch.Tensor:
        features = {**dict(zip(self.names, tokens, strict=True)), **self.others}
        vectors: torch.Tensor = self.model(features)["sentence_embedding"]
        return torch.nn.functional.normalize(vectors[:, : self.model.truncate_dim], p=2, dim=1)
