"""The state that learning goes on from, by numpy alone: a return to an earlier version needs no torch."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace

import numpy as np
from safetensors.numpy import load, save

from memshare_trainer.lessons.lesson import Array

PRIOR = 0.1  # standard deviation of what submitters are worth, in the unit of a cosine
START_BIAS = 0.6  # the cosine at which a memory is as likely to help as not, before anything was learnt


@dataclass(frozen=True)
class State:
    """The adapter's weights W, the bias b, what each submitter is worth, Adam's moments of all three, and its steps."""

    weights: Array  # (dimension, dimension)
    weights_mean: Array
    weights_square: Array
    bias: Array  # ()
    bias_mean: Array
    bias_square: Array
    worth: Array  # (submitters,)
    worth_mean: Array
    worth_square: Array
    steps: Array  # (), a whole number
    submitters: tuple[str, ...] = ()

    @classmethod
    def start(cls, dimension: int) -> State:
        """The untrained state: no vector is turned, and nobody is worth more than others."""
        square, number, none = (
            np.zeros((dimension, dimension), np.float32),
            np.zeros((), np.float32),
            np.zeros(0, np.float32),
        )
        bias = np.full((), START_BIAS, np.float32)
        return cls(square, square, square, bias, number, number, none, none, none, number)

    def knowing(self, submitters: Collection[str]) -> State:
        """The same with room for some submitters; a new one is worth what the pool's mean is, which is 0."""
        new = sorted(set(submitters) - set(self.submitters))
        if not new:
            return self
        more = np.zeros(len(new), np.float32)
        return replace(
            self,
            submitters=(*self.submitters, *new),
            worth=np.concatenate([self.worth, more]),
            worth_mean=np.concatenate([self.worth_mean, more]),
            worth_square=np.concatenate([self.worth_square, more]),
        )

    def pack(self) -> str:
        """As text, exactly: safetensors in base 64."""
        tensors = asdict(self)
        names = json.dumps(tensors.pop("submitters")).encode()
        return b64encode(save(tensors | {"submitters": np.frombuffer(names, np.uint8)})).decode()

    @classmethod
    def unpack(cls, text: str) -> State:
        tensors = load(b64decode(text))
        names = json.loads(tensors.pop("submitters").tobytes())
        return cls(**tensors, submitters=tuple(names))
