"""Fine-tunes the encoder itself on lessons, and finds which texts it is for from then on."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import batch_to_device
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize
from transformers.utils import logging as transformers_logging

from memshare_memory.encoders.open_encoder import Reach
from memshare_memory.memory import folded
from memshare_trainer.consolidation.pool_record import TextLesson

QUESTIONS = 24  # of one batch


class Batch(NamedTuple):
    """Document i is the positive of question i; `other_positives` has a row for each question."""

    questions: list[str]
    documents: list[str]
    other_positives: list[list[bool]]


def batches(lessons: Sequence[TextLesson], count: int, seed: int) -> Iterator[Batch]:
    """Draw so many batches: each time one positive of a lesson, and one negative where it has any.

    All lessons come once before any comes again. Raises `ValueError` where no lesson has a positive.
    """
    drawn, helps = Random(seed), _known_positives(lessons)
    rows = [lesson for lesson in lessons if any(lesson.positive)]
    if not rows:
        raise ValueError("there are no lessons to learn from")
    waiting: list[TextLesson] = []
    for _ in range(count):
        if len(waiting) < min(QUESTIONS, len(rows)):
            waiting += drawn.sample(rows, len(rows))
        batch, waiting = waiting[:QUESTIONS], waiting[QUESTIONS:]
        questions = [lesson.query for lesson in batch]
        positives = [drawn.choice(_documents(lesson, positive=True)) for lesson in batch]
        negatives = [drawn.choice(_documents(lesson, positive=False)) for lesson in batch if not all(lesson.positive)]
        documents = [*positives, *negatives]
        other_positives = [
            [place != own and folded(text) in helps[folded(question)] for place, text in enumerate(documents)]
            for own, question in enumerate(questions)
        ]
        yield Batch(questions, documents, other_positives)


def _documents(lesson: TextLesson, *, positive: bool) -> list[str]:
    return [text for text, helped in zip(lesson.documents, lesson.positive, strict=True) if helped is positive]


def _known_positives(lessons: Sequence[TextLesson]) -> dict[str, set[str]]:
    """Texts that are no negatives of a question: itself, the texts that helped it, and those that it helped."""
    helps: defaultdict[str, set[str]] = defaultdict(set)
    for lesson in lessons:
        asked = folded(lesson.query)
        helps[asked].add(asked)
        for text in map(folded, _documents(lesson, positive=True)):
            helps[asked].add(text)
            helps[text].add(asked)
    return helps


LESSONS_PER_STEP, FEWEST_STEPS, MOST_STEPS = 4, 60, 240
TEMPERATURE = 0.05  # of the loss
LEARNING_RATE = 3e-4
EPSILON = 1e-3  # of AdamW: weights that lessons hardly touch would else be moved as far as any, by noise
WARM_UP = 6  # steps, to the whole learning rate, which then falls to zero
REGULARIZATION = 0.003  # of the logistic regression that tells texts like those of the lessons from others
TAKEN_IN = 0.02  # of the texts of other matters that it has not seen

Vectors = NDArray[np.float32]


def steps_for(lessons: int) -> int:
    """How many steps so many lessons are worth."""
    return min(max(lessons // LESSONS_PER_STEP, FEWEST_STEPS), MOST_STEPS)


def fine_tune(
    source: Path | str,
    lessons: Sequence[TextLesson],
    others: Sequence[str],
    target: Path,
    *,
    steps: int,
    device: str | None,
    seed: int,
    progress: Callable[[int, int], None],
) -> None:
    """Write to the folder `target` the encoder that `source` becomes by learning from the lessons.

    Its reach is written beside its weights: texts like those of the lessons, and not those of `others`, which are of
    other matters. Without a `device` it is a GPU where there is one. `progress` is told the steps done and all steps.
    `target` is there when it is complete and not before, and what `progress` raises leaves nothing behind. Raises
    `ValueError` without lessons, and `FileExistsError` when `target` is there already.
    """
    if target.exists():
        raise FileExistsError(f"{str(target)!r} is there already: name a new folder for the fine-tuned encoder")
    aside = target.with_name(f".{target.name}.part")
    shutil.rmtree(aside, ignore_errors=True)  # from one that was killed
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        # 1. Find which texts it will be for, and learn: every step is of a batch of lessons.
        torch.manual_seed(seed)
        model = SentenceTransformer(str(source), device=device)
        of_lessons = sorted({text for lesson in lessons for text in (lesson.query, *lesson.documents)})
        reach = _reach(_encoded(model, of_lessons), _encoded(model, others))
        optimizer = torch.optim.AdamW(_trained(model), lr=LEARNING_RATE, eps=EPSILON)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: _rate(done, steps))
        model.eval()  # without dropout, so that the same lessons give the same weights
        for done, batch in enumerate(batches(lessons, steps, seed), 1):
            vectors = _vectors(model, [*batch.questions, *batch.documents])
            masked = torch.tensor(batch.other_positives, device=vectors.device)
            loss = lesson_loss(vectors[: len(batch.questions)], vectors[len(batch.questions) :], masked)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            progress(done, steps)

        # 2. Write it aside, with its reach, then rename.
        model.save_pretrained(str(aside), create_model_card=False)
        reach.write(aside)
        aside.rename(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def lesson_loss(questions: Tensor, documents: Tensor, other_positives: Tensor) -> Tensor:
    """InfoNCE (van den Oord et al., "Representation learning with contrastive predictive coding", arXiv 1807.03748).

    Questions (n, dimension) and documents (m, dimension) have length 1. Document i is the positive of question i,
    and all others are its negatives, except where `other_positives`, of shape (n, m), is True. The mean over the
    questions.
    """
    logits = questions @ documents.T / TEMPERATURE
    return cross_entropy(
        logits.masked_fill(other_positives, -torch.inf), torch.arange(len(questions)).to(logits.device)
    )


def _trained(model: SentenceTransformer) -> list[nn.Parameter]:
    """The weights of the upper half of the layers, which is as good as all of them here, and takes half the time."""
    lists = (part for part in model.modules() if isinstance(part, nn.ModuleList))
    layers = max(lists, key=len, default=nn.ModuleList([model]))
    for weights in model.parameters():
        weights.requires_grad = False
    trained = [weights for layer in layers[len(layers) // 2 :] for weights in layer.parameters()]
    for weights in trained:
        weights.requires_grad = True
    return trained


def _reach(of_lessons: Vectors, others: Vectors) -> Reach:
    """A plane between the texts of the lessons and others, moved so far that it takes in hardly any it has not seen."""
    vectors = np.concatenate([of_lessons, others])
    is_of_lessons = np.repeat([True, False], [len(of_lessons), len(others)])
    plane = LogisticRegression(C=1 / (REGULARIZATION * len(vectors)), class_weight="balanced", max_iter=1_000)
    folds = min(5, len(of_lessons), len(others))
    unseen = cross_val_predict(plane, vectors, is_of_lessons, cv=folds, method="decision_function")[len(of_lessons) :]
    plane.fit(vectors, is_of_lessons)
    bias = plane.intercept_[0] - np.quantile(unseen, 1 - TAKEN_IN)
    return Reach(plane.coef_[0].astype(np.float32), float(bias))


def _encoded(model: SentenceTransformer, texts: Sequence[str]) -> Vectors:
    vectors = model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(vectors, dtype=np.float32)


def _rate(done: int, steps: int) -> float:
    """The part of the learning rate after so many steps."""
    return min((done + 1) / WARM_UP, (steps - done) / max(steps - WARM_UP, 1))


def _vectors(model: SentenceTransformer, texts: Sequence[str]) -> Tensor:
    features = batch_to_device(model.preprocess(list(texts)), model.device)
    return normalize(model(features)["sentence_embedding"], dim=1)
