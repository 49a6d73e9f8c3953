"""The retriever of INMS as its published reference trains it; `benchmarks.retriever` measures it beside ours.

From the reference (github.com/GHupppp/InteractiveMemorySharingLLM, `Retrieval_model.py`, `Evaluate.py`, `Agent_MS.py`):
- a new memory's ten best by BM25, searched with its prompt and answer; the three with the lowest P(¬Y) are wanted and
  the three with the highest are not, without a threshold;
- the encoder and a linear head on two concatenated embeddings are trained together, by binary cross-entropy on what
  the head says: AdamW, learning rate 5e-5, two passes over the six pairs, dropout on, no replay;
- a pair is two texts "prompt->answer"; what is served is the cosine of the prompt alone with "prompt->answer", without
  the head, and every memory is encoded again for it, as the encoder has changed.
Assumed: our encoder in place of BERT, with its mean pooling in place of BERT's pooler; our BM25; a learner that begins
once there are six candidates, as the reference begins with a full pool. Left out, in favour of its cost: it encodes
the new memory anew for each of the pairs, encodes the texts of the pool one by one, and writes the model and the
optimiser to disk and reads them back for every memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from memshare.memory_service.encoders.sentence_encoder import bundled_folder
from memshare.memory_service.memory import Memory

CANDIDATES = 10
OF_EACH = 3  # wanted, and not wanted
LEARNING_RATE = 5e-5
PASSES = 2
BATCH = 64  # texts that are encoded at once


class Literal:
    """The encoder and the head that it is trained with."""

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        self._model = SentenceTransformer(str(bundled_folder()), device="cpu")
        self._head = nn.Linear(2 * int(self._model.get_embedding_dimension() or 0), 1)
        parameters = [*self._model.parameters(), *self._head.parameters()]
        self._optimizer = torch.optim.AdamW(parameters, lr=LEARNING_RATE, weight_decay=0.0)

    def learn(self, memory: Memory, candidates: Sequence[Memory], labels: Sequence[float]) -> None:
        """Two steps on one memory; `labels` has P(¬Y) of each candidate."""
        ranking = sorted(range(len(candidates)), key=lambda candidate: labels[candidate])
        if len(ranking) < 2 * OF_EACH:
            return
        chosen = [candidates[index] for index in (*ranking[:OF_EACH], *ranking[-OF_EACH:])]
        wanted = torch.tensor([1.0] * OF_EACH + [0.0] * OF_EACH)
        texts = [pair_text(one) for one in (memory, *chosen)]
        self._model.train()
        for _ in range(PASSES):
            self._optimizer.zero_grad()
            embeddings = self._model(self._model.preprocess(texts))["sentence_embedding"]
            pairs = torch.cat((embeddings[:1].expand(len(chosen), -1), embeddings[1:]), dim=1)
            logits = self._head(pairs).squeeze(-1)
            binary_cross_entropy_with_logits(logits, wanted).backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, of shape (len(texts), dimension), as the encoder is now."""
        vectors = self._model.encode(list(texts), batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)


def pair_text(memory: Memory) -> str:
    """A memory as the reference encodes it."""
    return f"{memory.prompt}->{memory.answer}"
