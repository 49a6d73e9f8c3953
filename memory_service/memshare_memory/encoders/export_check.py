"""The check that an export has to pass: the same vectors as the model has in sentence-transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memshare_memory.encoders.encoder import Encoder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

LEAST_COSINE = 1 - 1e-4
LONGEST_OFF = 1e-3  # how far a vector's length may be from 1

TEXTS = (
    "a lamp by the sea",
    "x",
    "",
    "Write a limerick about a Cat who could not stand the RAIN!",
    "以秋夜江边为题，写一首五言律诗。",
    "Écris un poème sur l'été; ¿y por qué no en español?",
    "Напиши короткое стихотворение о море.",
    "اكتب قصيدة قصيرة عن البحر",
    "An emoji 🌊, a tab\tand a line\nbreak; code: `x = f(a[0])`, and https://example.org/?q=1.",
    "How many words does it take to fill a window? " * 12,
    "Every text that is longer than the longest that a model reads is cut off at the same token. " * 60,
)


def reference_vectors(model: SentenceTransformer) -> NDArray[np.float32]:
    """What sentence-transformers makes of the texts."""
    found = model.encode(list(TEXTS), normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(found, dtype=np.float32)


def why_refused(encoder: Encoder, expected: NDArray[np.float32]) -> str | None:
    """How an encoder's vectors of the texts, together and one by one, differ from the expected ones; None if not."""
    for found in (encoder.encode(TEXTS), np.concatenate([encoder.encode([text]) for text in TEXTS])):
        cosines = (found * expected).sum(axis=1)
        lengths = np.linalg.norm(found, axis=1)
        if not (cosines > LEAST_COSINE).all():
            return f"its vectors are not those of sentence-transformers: a cosine is {cosines.min():.5f}"
        if not (abs(lengths - 1) < LONGEST_OFF).all():
            return f"its vectors are not of length 1: a length is {lengths[abs(lengths - 1).argmax()]:.5f}"
    return None
