"""The loss by which the encoder itself learns: binary cross-entropy on the cosines of a query and its candidates."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

SCALE = 20.0  # a bare cosine spans too little of the sigmoid: trained on it, the encoder loses what it knew
OFFSET = -6.0
NO_DOCUMENT = -1.0


class LessonLoss(nn.Module):
    """INMS, equation 3, with sigmoid(20·cos(q, d) + b) as the probability of a positive; b is learnt, from -6.

    A batch has n queries in its first column and their candidates in v more; the labels are of shape (n, v): 1 for a
    positive, 0 for a negative, and `NO_DOCUMENT` where a query has fewer than v candidates.
    """

    def __init__(self, model: SentenceTransformer) -> None:
        super().__init__()
        self.model = model
        self.offset = nn.Parameter(torch.tensor(OFFSET))

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        queries, *documents = (self.model(features)["sentence_embedding"] for features in sentence_features)
        return lesson_loss(queries, torch.stack(documents, dim=1), labels, self.offset)


def lesson_loss(queries: Tensor, documents: Tensor, labels: Tensor, offset: Tensor) -> Tensor:
    """The mean over all candidates of queries (n, dimension) and documents (n, v, dimension), of any length above 0."""
    logits = SCALE * torch.cosine_similarity(queries[:, None], documents, dim=-1) + offset
    there = labels != NO_DOCUMENT
    return nn.functional.binary_cross_entropy_with_logits(logits[there], labels[there].to(logits.dtype))
