"""One step of a pool's adapter on a new lesson and replayed ones.

An adapter turns the query alone: the similarity of a query q and a document d is cos(normalise(q + W·q), d). The
vectors of documents are frozen, so that a step costs the same however large the pool is. With vectors of 384 numbers
torch is fastest in one thread (`torch.set_num_threads(1)`), which is for the process to say.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, normalize

from memshare.retriever_trainer.accuracy import Example
from memshare.retriever_trainer.adapter_state import State

SCALE = 20.0  # of cosines in the loss: unscaled ones harm what the adapter is not about
LEARNING_RATE = 1e-3
WEIGHT_DECAY = 1.0  # pulls W back to zero, which is the untrained retriever


def step(state: State, examples: Sequence[Example]) -> State:
    """The state after one step of AdamW on the examples, of which each weighs the same."""
    # 1. Go on from the state, which stays as it is.
    weights, bias = torch.tensor(state.weights), torch.tensor(state.bias)
    optimizer = torch.optim.AdamW(
        [{"params": [weights], "weight_decay": WEIGHT_DECAY}, {"params": [bias], "weight_decay": 0.0}],
        lr=LEARNING_RATE,
    )
    moments = ((weights, state.weights_mean, state.weights_square), (bias, state.bias_mean, state.bias_square))
    for parameter, mean, square in moments:
        parameter.requires_grad_()
        optimizer.state[parameter] = {
            "step": torch.tensor(state.steps),
            "exp_avg": torch.tensor(mean),
            "exp_avg_sq": torch.tensor(square),
        }

    # 2. Lay all documents one after the other, and beside each the query it belongs to.
    sizes = torch.tensor([len(example.positive) for example in examples])
    queries = torch.from_numpy(np.stack([example.query for example in examples]))
    documents = torch.from_numpy(np.concatenate([example.documents for example in examples]))
    wanted = torch.from_numpy(np.concatenate([example.positive for example in examples]).astype(np.float32))

    # 3. The loss of INMS, eq. 3, on logits 20·cos + b: the mean over an example's documents, and over the examples.
    turned = normalize(queries + queries @ weights.T, dim=1)
    cosines = (turned.repeat_interleave(sizes, dim=0) * documents).sum(dim=1)
    share = (1 / (sizes * len(examples))).repeat_interleave(sizes)
    loss = binary_cross_entropy_with_logits(SCALE * cosines + bias, wanted, share, reduction="sum")

    # 4. One step.
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    (w, w_mean, w_square), (b, b_mean, b_square) = (
        (parameter.detach().numpy(), made["exp_avg"].numpy(), made["exp_avg_sq"].numpy())
        for parameter, made in optimizer.state.items()
    )
    return State(w, w_mean, w_square, b, b_mean, b_square, np.asarray(state.steps + 1))
