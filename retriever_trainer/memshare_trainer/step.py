"""A step of a pool's learner on some examples: of A = I + W, and of the worths, in the s(q, m) of recall.

The stored vectors are frozen, so that a step costs the same however large the pool is. With vectors of 384 numbers
torch is fastest in one thread (`torch.set_num_threads(1)`), which is for the process to say.

A whole log is learnt again by such steps: for an encoder whose vectors no adapter has seen, or without what is to be
unlearnt. A retriever becomes by that what it would be, had it never been taught with some memories, or by somebody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from random import Random
from typing import NamedTuple
from uuid import UUID

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, normalize, softplus

from memshare_broker.wire.lessons import Evidence
from memshare_memory.admit.after import EVIDENCE_AT_ONCE
from memshare_memory.admit.crediting import LEAST_WEIGHT
from memshare_memory.recall.retriever import ranking_score
from memshare_trainer.lesson import UNDECIDED, Example, StoredLesson, border, example_of
from memshare_trainer.lesson_log import LessonLog, has_part, is_held_out, lessons_with
from memshare_trainer.proof import PRIOR, LearntRetriever, People, State, Words, people_of
from memshare_trainer.replay_buffer import EVIDENCE_REPLAYED, REPLAYED, is_held_out_evidence
from memshare_trainer.rewriting import begin_with

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


def relearn(
    lessons: Sequence[StoredLesson], evidence: Sequence[Evidence], dimension: int, people: People | None = None
) -> LearntRetriever:
    """The retriever learnt by a step for each lesson, in their order, and replay; held-out examples stay held out.

    Where there is more evidence than comes with lessons, it has further steps of its own.
    """
    words, drawn, state = Words(people), Random(0), State.start(dimension)
    heavy = [word for word in evidence if word.weight >= LEAST_WEIGHT]
    said = [example_of(word) for word in heavy]
    for example in (*(lesson.example() for lesson in lessons), *said):
        words.add(example)
    taught = [lesson.example() for lesson in lessons if not is_held_out(lesson.number)]
    usable = [
        example
        for word, example in zip(heavy, said, strict=True)
        if not is_held_out_evidence(word) and words.share(word.by, word.memory.id, word.memory.submitter)
    ]
    for count in range(max(len(taught), len(usable) // EVIDENCE_AT_ONCE)):
        earlier: list[Example] = drawn.sample(taught[:count], min(REPLAYED, len(taught[:count])))
        evidence_now = drawn.sample(usable, min(EVIDENCE_REPLAYED, len(usable)))
        state = step(state, [*taught[count : count + 1], *earlier, *evidence_now], words)
    return LearntRetriever.of(state, words)


class Unlearnt(NamedTuple):
    """How many lessons and words of evidence were dropped, and the version in use before and after."""

    lessons: int
    evidence: int
    before: int
    version: int


def unlearn(log: LessonLog, memories: Collection[UUID], submitter: str | None = None) -> Unlearnt:
    """Learn the whole log again without these memories' lessons and evidence, and drop every version there was.

    With a `submitter` also without what their answers and feedback said. Other evidence that waits goes on waiting.
    Takes some 10 ms a lesson, while other trainers wait.
    """
    with log.lease():
        head, dropped = log.head(), set(lessons_with(log, memories, submitter))
        lessons = log.all_lessons()
        left = [lesson for lesson in lessons if lesson.number not in dropped]
        said = log.evidence()
        words = [word for word in said if not has_part(word, memories, submitter)]
        taught = [*(lesson.example() for lesson in left[:1]), *(example_of(word) for word in words[:1])]
        learnt = relearn(left, words, taught[0].query.size, people_of(log.client, log.pool)) if taught else None
        begin_with(log, left, words, head.counted, learnt, publish=bool(left and head.version))
        waited = log.drop_waiting(lambda word: has_part(word, memories, submitter))
        return Unlearnt(len(dropped), len(said) - len(words) + waited, head.version, log.head().version)
