"""BERTScore: how much of an answer's meaning is in its reference, token by token (arXiv 1904.09675)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bert_score import BERTScorer
from transformers import AutoConfig, AutoTokenizer
from transformers.utils import logging

BATCH = 32
MOST_UNKNOWN = 0.1  # of a reference's tokens


def f1_scores(
    answers: Sequence[str], references: Sequence[str], model: Path | str, device: str | None
) -> list[float | None]:
    """The F1 of each answer and its reference, by the token vectors of a transformer's last layer.

    No baseline is subtracted and no IDF is used. An empty answer has 0. None where the model does not know more than a
    tenth of the reference's tokens, as the bundled encoder does not know Chinese: unknown ones are all alike to it.
    """
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    tokenizer = AutoTokenizer.from_pretrained(str(model))
    scores: list[float | None] = [None if _unknown(tokenizer, text) > MOST_UNKNOWN else 0.0 for text in references]
    filled = [place for place, answer in enumerate(answers) if answer.strip() and scores[place] is not None]
    if not filled:
        return scores
    layers = AutoConfig.from_pretrained(str(model)).num_hidden_layers
    scorer = BERTScorer(model_type=str(model), num_layers=layers, batch_size=BATCH, device=device)
    *_, f1 = scorer.score([answers[place] for place in filled], [references[place] for place in filled])
    for place, score in zip(filled, f1.tolist(), strict=True):
        scores[place] = score
    return scores


def _unknown(tokenizer: Any, text: str) -> float:
    """The share of a text's tokens that the model has no vector of their own for."""
    tokens: list[int] = tokenizer(text, add_special_tokens=False, truncation=True)["input_ids"]
    return tokens.count(tokenizer.unk_token_id) / (len(tokens) or 1)
