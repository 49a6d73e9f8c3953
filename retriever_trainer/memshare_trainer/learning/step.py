"""A step of a pool's learner on some examples: of A = I + W, and of the worths, in the s(q, m) of recall.

The stored vectors are frozen, so that a step costs the same however large the pool is. With vectors of 384 numbers
torch is fastest in one thread (`torch.set_num_threads(1)`), which is for the process to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, normalize, softplus

from memshare_memory.recall.retriever import ranking_score
from memshare_trainer.learning.adapter_state import PRIOR, State
from memshare_trainer.learning.proof import Words
from memshare_trainer.lessons.lesson import UNDECIDED, Example, border

TEMPERATURE = 0.05  # of the loss over a list
SCALE = 0.1  # of s in the loss of single memories: so far above the bias a memory helps with p = .73
SINGLE = 0.3  # the weight of that loss
LEARNING_RATES = {"weights": 5e-4, "bias": 1e-2, "worth": 1e-2}
EPSILONS = {"weights": 2e-3, "bias": 1e-8, "worth": 1e-8}  # of Adam: what is known already turns hardly anything
DECAY = 2e-4  # pulls W back to zero, which is the untrained retriever


def step(state: State, examples: Sequence[Example], words: Words) -> State:
    """The state after one step of Adam on the examples.

    What a submitter is worth moves by each person's word about a memory once, however often it was said: `words` knows.
    """
    # 1. Go on from the state, which stays as it is.
    state = state.knowing({name for example in examples for name in example.submitters})
    parameters = {name: torch.tensor(getattr(state, name)).requires_grad_() for name in LEARNING_RATES}
    groups = [
        {"params": [parameters[name]], "lr": rate, "eps": EPSILONS[name]} for name, rate in LEARNING_RATES.items()
    ]
    optimizer = torch.optim.Adam(groups)
    for name, parameter in parameters.items():
        optimizer.state[parameter] = {
            "step": torch.tensor(state.steps),
            "exp_avg": torch.tensor(getattr(state, f"{name}_mean")),
            "exp_avg_sq": torch.tensor(getattr(state, f"{name}_square")),
        }

    # 2. One step down the loss.
    loss = _loss(parameters, state.submitters, examples, words)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()

    # 3. The new state.
    made = {}
    for name, parameter in parameters.items():
        moments = optimizer.state[parameter]
        made[name] = parameter.detach().numpy()
        made[f"{name}_mean"], made[f"{name}_square"] = moments["exp_avg"].numpy(), moments["exp_avg_sq"].numpy()
    return State(**made, steps=np.asarray(state.steps + 1), submitters=state.submitters)


def _loss(
    parameters: Mapping[str, Tensor], submitters: Sequence[str], examples: Sequence[Example], words: Words
) -> Tensor:
    weights, bias, worth = parameters["weights"], parameters["bias"], parameters["worth"]

    # 1. What is known of the memories of all examples, one after the other, and where each stands: row and column.
    place = {name: number for number, name in enumerate(submitters)}
    at = [
        (row, column)
        for row, example in enumerate(examples)
        for column in np.flatnonzero(~np.isnan(example.gains)).tolist()
    ]
    whose = [place[examples[row].submitters[column]] for row, column in at]
    said = [_said(examples[row], column, words) for row, column in at]
    rows, columns = torch.tensor(at).T
    documents = torch.from_numpy(np.stack([examples[row].documents[column] for row, column in at]))
    wanted = torch.tensor([float(examples[row].gains[column]) for row, column in at])

    # 2. s of each, with the gradient of a worth no larger than what is said counts.
    queries = torch.from_numpy(np.stack([example.query for example in examples]))
    turned, memories = (normalize(vectors + vectors @ weights.T, dim=-1) for vectors in (queries, documents))
    own, share = worth[torch.tensor(whose)], torch.tensor(said)
    s = ranking_score((turned[rows] * memories).sum(-1), own * share + (own * (1 - share)).detach())

    # 3. Over each labelled list: every memory that helps, or helps more, before all others (InfoNCE), in the mean.
    shape = (len(examples), int(columns.max()) + 1)
    none = torch.zeros(shape, dtype=torch.bool)
    between = [border([*example.gains.tolist()]) if example.is_lesson else UNDECIDED for example in examples]
    is_better = wanted > torch.tensor([UNDECIDED if bound is None else bound for bound in between])[rows]
    helps, misleads = (none.index_put((rows, columns), of) for of in (is_better, ~is_better))
    lists = torch.tensor([example.is_lesson for example in examples]) & helps.any(1) & misleads.any(1)
    logits = torch.zeros(shape).index_put((rows, columns), s / TEMPERATURE)
    against = torch.logsumexp(logits.masked_fill(~misleads, -1e9), 1, keepdim=True)
    each = (softplus(against - logits) * helps).sum(1) / helps.sum(1).clamp(min=1)
    of_each = torch.tensor([example.weight for example in examples])
    loss = (of_each * each * lists).sum() / lists.sum().clamp(min=1)

    # 4. Of each single memory that is known to help or not: what it is worth to show it.
    weight = of_each / torch.tensor([float((~np.isnan(example.gains)).sum()) for example in examples])
    single = binary_cross_entropy_with_logits((s - bias) / SCALE, wanted, reduction="none")
    loss = loss + SINGLE * (weight[rows] * single).sum() / len(examples)

    # 5. Back to what is known beforehand: little is turned, and a worth is small until many have spoken.
    return loss + DECAY * (weights**2).sum() + (worth**2).sum() / (2 * PRIOR**2 * max(words.total, 1))


def _said(example: Example, place: int, words: Words) -> float:
    return words.share(example.by, example.ids[place], example.submitters[place])
