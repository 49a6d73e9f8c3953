"""Fine-tunes the encoder on lessons, finds which texts it is for from then on, and checks it before it is put into use.

The check is by held-out lessons and a probe. The probe has questions of no agent's domain, on which consolidation must
not make the encoder worse. They were written for the project and are never trained on: the lessons come from the pools,
and `general.txt` has other texts.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple
from uuid import UUID

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import batch_to_device
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize
from transformers.utils import logging as transformers_logging

from memshare_broker.wire.messages import Message
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.encoders.open_encoder import Reach
from memshare_memory.memory import folded
from memshare_memory.recall.retriever import Adapter
from memshare_trainer.consolidation.pool_record import PoolRecord, TextLesson
from memshare_trainer.lesson import Array, Figure, RankingComparison, compare, paired, scores
from memshare_trainer.proof import LearntRetriever
from memshare_trainer.step import relearn

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


def _reach(of_lessons: Array, others: Array) -> Reach:
    """A plane between the texts of the lessons and others, moved so far that it takes in hardly any it has not seen."""
    vectors = np.concatenate([of_lessons, others])
    is_of_lessons = np.repeat([True, False], [len(of_lessons), len(others)])
    plane = LogisticRegression(C=1 / (REGULARIZATION * len(vectors)), class_weight="balanced", max_iter=1_000)
    folds = min(5, len(of_lessons), len(others))
    unseen = cross_val_predict(plane, vectors, is_of_lessons, cv=folds, method="decision_function")[len(of_lessons) :]
    plane.fit(vectors, is_of_lessons)
    bias = plane.intercept_[0] - np.quantile(unseen, 1 - TAKEN_IN)
    return Reach(plane.coef_[0].astype(np.float32), float(bias))


def _encoded(model: SentenceTransformer, texts: Sequence[str]) -> Array:
    vectors = model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(vectors, dtype=np.float32)


def _rate(done: int, steps: int) -> float:
    """The part of the learning rate after so many steps."""
    return min((done + 1) / WARM_UP, (steps - done) / max(steps - WARM_UP, 1))


def _vectors(model: SentenceTransformer, texts: Sequence[str]) -> Tensor:
    features = batch_to_device(model.preprocess(list(texts)), model.device)
    return normalize(model(features)["sentence_embedding"], dim=1)


FILE = Path(__file__).with_name("probe.jsonl")
CUTOFF = 10


class ProbePair(Message):
    """A question of general knowledge, and the statement that answers it."""

    question: str
    statement: str


@cache
def pairs() -> tuple[ProbePair, ...]:
    """The pairs that ship with the package."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return tuple(ProbePair.model_validate_json(line) for line in lines)


def ndcg(before: Encoder, after: Encoder) -> Figure:
    """Mean nDCG@10 on the probe, from 0 to 1, of two encoders, with the standard error of their difference."""
    return paired(ndcg_each(before, pairs()), ndcg_each(after, pairs()))


def ndcg_each(encoder: Encoder, probed: Sequence[ProbePair]) -> Array:
    """nDCG@10 of each question, of shape (questions,): it looks for its one relevant statement among those of all.

    The ideal gain is 1 then, so a question has 1 / log2(rank + 1), and nothing beyond rank 10.
    """
    questions = encoder.encode([pair.question for pair in probed])
    statements = encoder.encode([pair.statement for pair in probed])
    cosines = questions @ statements.T
    own = cosines.diagonal()[:, None]
    # A tie counts against the encoder: one that gives every text the same vector must not look perfect.
    ranks = (cosines >= own).sum(axis=1)
    return np.where(ranks <= CUTOFF, 1 / np.log2(ranks + 1), 0.0).astype(np.float32)


MOST_LOST = 0.01  # nDCG on the probe, by more than the error of the difference


def stays(found: Figure) -> bool:
    """True if an encoder ranks the probe as well as before, but for `MOST_LOST` and the error."""
    return found.before - found.after <= MOST_LOST + found.error


class Check(NamedTuple):
    """How the held-out lessons are ranked, nDCG on the untouched probe, and what was learnt anew for each pool."""

    held_out: RankingComparison
    probe: Figure
    learnt: Mapping[str, LearntRetriever]

    @property
    def figures(self) -> dict[str, Figure]:
        """Its figures, as `Trial` and `Consolidated` have them."""
        held_out = self.held_out
        return {"first_helps": held_out.first, "held_out_ndcg": held_out.ndcg, "probe_ndcg": self.probe}

    @property
    def passed(self) -> bool:
        return not self.held_out.worse and stays(self.probe)

    @property
    def refusal(self) -> str:
        """Why the encoder is refused, for a person."""
        held_out = self.held_out
        return (
            f"The trained encoder was refused, and nothing was changed. On {held_out.lessons} held-out lessons what is"
            f" ranked first helps {_told(held_out.first)}, nDCG {_told(held_out.ndcg)}: neither may fall by more than"
            f" its standard error, after ±. nDCG on the probe {_told(self.probe)} (may lose {MOST_LOST} and its error)."
            " The retriever goes on learning; try again with more lessons."
        )


def check(
    first: Encoder,
    after: Encoder,
    records: Mapping[str, PoolRecord],
    texts: Mapping[UUID, str],
    in_use: Mapping[str, Adapter],
) -> Check:
    """Compare two encoders on held-out lessons: the one in use as it is, the other with adapters learnt from zero.

    `texts` are of the memories in the records, whose vectors are those of the encoder in use. On the probe the new one
    is compared with the `first`, which nobody has trained, so that what is lost there does not add up.
    """
    ids = list({memory for record in records.values() for memory in record.memories if memory in texts})
    vectors = dict(zip(ids, after.encode([texts[memory] for memory in ids]), strict=True))
    anew = {pool: record.with_vectors(after, vectors) for pool, record in records.items()}
    learnt = {
        pool: relearn(record.learnt, record.evidence, after.dimension) for pool, record in anew.items() if record.learnt
    }
    gains: list[Array] = []
    old: list[Array] = []
    new: list[Array] = []
    for pool, record in anew.items():
        before = {lesson.number: lesson for lesson in records[pool].held_out}
        adapter = learnt[pool].adapter() if pool in learnt else Adapter()
        for lesson in record.held_out:
            known = before[lesson.number]
            same = known.without(set(known.labels) - set(lesson.labels)).example()
            gains.append(same.gains)
            old += scores(in_use.get(pool, Adapter()), [same])
            new += scores(adapter, [lesson.example()])
    return Check(compare(gains, old, new), ndcg(first, after), learnt)


def _told(figure: Figure) -> str:
    return f"{figure.before:.3f} → {figure.after:.3f} ± {figure.error:.3f}"
