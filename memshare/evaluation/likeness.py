"""BERTScore: how much of an answer's meaning is in its reference, token by token (arXiv 1904.09675)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bert_score import BERTScorer
from transformers import AutoConfig
from transformers.utils import logging

BATCH = 32


def f1_scores(answers: Sequence[str], references: Sequence[str], model: Path | str, device: str | None) -> list[float]:
    """The F1 of each answer and its reference, by the token vectors of a transformer's last layer.

    No baseline is subtracted and no IDF is used. An empty answer has 0.
    """
    filled = [place for place, answer in enumerate(answers) if answer.strip()]
    scores = [0.0] * len(answers)
    if not filled:
        return scores
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    layers = AutoConfig.from_pretrained(str(model)).num_hidden_layers
    scorer = BERTScorer(model_type=str(model), num_layers=layers, batch_size=BATCH, device=device)
    *_, f1 = scorer.score([answers[place] for place in filled], [references[place] for place in filled])
    for place, score in zip(filled, f1.tolist(), strict=True):
        scores[place] = score
    return scores
