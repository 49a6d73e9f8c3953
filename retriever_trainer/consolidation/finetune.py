"""Fine-tunes the encoder itself on lessons, and holds it where it was on other texts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import Any

import torch
from datasets import Dataset, DatasetDict
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.losses import EmbedDistillLoss
from torch import nn
from transformers import PrinterCallback, TrainerCallback, TrainerState
from transformers.utils import logging as transformers_logging

from memshare.retriever_trainer.consolidation.lesson_loss import NO_DOCUMENT, LessonLoss

EPOCHS = 1
BATCH = 8  # lessons of one step, with all their candidates; or anchors of one step
LEARNING_RATE = 1e-5
OFFSET_LEARNING_RATE = 1e-2
WARM_UP = 0.1  # share of the steps
ANCHORS_PER_LESSON = 8
BACK = 0.5  # of the way to the old weights

GENERAL_ANCHORS = Path(__file__).with_name("anchors.txt")


@dataclass(frozen=True)
class TextLesson:
    """A lesson as texts: the candidates for a prompt, and which of them should have been found."""

    query: str
    documents: tuple[str, ...]
    positive: tuple[bool, ...]


def fine_tune(
    source: Path | str,
    lessons: Sequence[TextLesson],
    anchors: Sequence[str],
    target: Path,
    *,
    device: str | None,
    seed: int,
    progress: Callable[[int, int], None],
) -> None:
    """Write to the folder `target` the encoder that `source` becomes by learning from the lessons.

    The anchors are texts of other matters, on which it is held to its old vectors. Without a `device` it is a GPU where
    there is one. `progress` is told the steps done and all steps. `target` is there when it is complete and not before,
    and what `progress` raises leaves nothing behind. Raises `ValueError` without lessons, and `FileExistsError` when
    `target` is there already.
    """
    if target.exists():
        raise FileExistsError(f"{str(target)!r} is there already: name a new folder for the fine-tuned encoder")
    if not lessons:
        raise ValueError("there are no lessons to learn from")
    aside = target.with_name(f".{target.name}.part")
    shutil.rmtree(aside, ignore_errors=True)  # from one that was killed
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        # 1. The old encoder, and what it says of the anchors.
        model = SentenceTransformer(str(source), device=device)
        old = {name: weights.detach().clone() for name, weights in model.named_parameters()}
        data = {"lessons": _lesson_rows(lessons)}
        losses: dict[str, nn.Module] = {"lessons": LessonLoss(model)}
        if anchors:
            data["anchors"] = _anchor_rows(model, anchors, ANCHORS_PER_LESSON * len(lessons), seed)
            losses["anchors"] = EmbedDistillLoss(model, distance_metric="l2")

        # 2. Learn: every step is of lessons alone or of anchors alone, in an order by the seed.
        trainer = _Trainer(
            model=model,
            args=_arguments(aside, model, seed),
            train_dataset=DatasetDict(data),
            loss=losses,
            callbacks=[_Progress(progress)],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()

        # 3. Go part of the way back: what was learnt comes in early, and what is forgotten goes late (Wortsman et al.,
        #    "Robust fine-tuning of zero-shot models", arXiv 2109.01903).
        with torch.no_grad():
            for name, weights in model.named_parameters():
                weights.lerp_(old[name].to(weights.device), BACK)

        # 4. Write it aside, then rename.
        model.save_pretrained(str(aside), create_model_card=False)
        aside.rename(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


@cache
def general_anchors() -> tuple[str, ...]:
    """Short texts of all sorts, for a deployment that has few other prompts; the probe has none of them."""
    return tuple(GENERAL_ANCHORS.read_text(encoding="utf-8").splitlines())


def _lesson_rows(lessons: Sequence[TextLesson]) -> Dataset:
    """One row per lesson; shorter ones are filled up with empty texts, which count for nothing."""
    widest = max(len(lesson.documents) for lesson in lessons)
    rows = []
    for lesson in lessons:
        missing = widest - len(lesson.documents)
        texts = (*lesson.documents, *[""] * missing)
        labels = (*map(float, lesson.positive), *[NO_DOCUMENT] * missing)
        rows.append({"query": lesson.query, **{f"document_{n}": text for n, text in enumerate(texts)}, "label": labels})
    return Dataset.from_list(rows)


def _anchor_rows(model: SentenceTransformer, anchors: Sequence[str], count: int, seed: int) -> Dataset:
    """Rows of anchors with their old vectors: some where there are too many, all over again where there are too few."""
    some = Random(seed).sample(anchors, min(count, len(anchors)))
    vectors = model.encode(some, normalize_embeddings=True, show_progress_bar=False)
    rows = [{"anchor": text, "label": vector.tolist()} for text, vector in zip(some, vectors, strict=True)]
    return Dataset.from_list(list(islice(cycle(rows), count)))


def _arguments(folder: Path, model: SentenceTransformer, seed: int) -> SentenceTransformerTrainingArguments:
    return SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        num_train_epochs=EPOCHS,
        per_device_train_batch_size=BATCH,
        learning_rate=LEARNING_RATE,
        learning_rate_mapping={r"\.offset$": OFFSET_LEARNING_RATE},
        warmup_steps=WARM_UP,
        seed=seed,
        use_cpu=model.device.type == "cpu",
        dataloader_pin_memory=model.device.type == "cuda",
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )


class _Trainer(SentenceTransformerTrainer):
    """The library's trainer without its model card, which would have prompts in it."""

    def add_model_card_callback(self, _default_args_dict: dict[str, Any]) -> None:
        return


class _Progress(TrainerCallback):
    """Hands on how far the trainer is."""

    def __init__(self, progress: Callable[[int, int], None]) -> None:
        self._progress = progress

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:  # noqa: ARG002
        self._progress(state.global_step, state.max_steps)
