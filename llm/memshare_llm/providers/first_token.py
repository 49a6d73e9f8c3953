"""Reading how likely each first token of a reply was, from a chat completion with log-probabilities."""

from __future__ import annotations

import math
from collections import defaultdict

from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from memshare_llm.chat import FirstToken, NoLogprobs
from memshare_llm.completion import read_choice

# The most that OpenAI gives.
MOST_LIKELY = 20


class _Likely(BaseModel):
    token: str
    logprob: FiniteFloat


class _Position(BaseModel):
    top_logprobs: list[_Likely] = Field(min_length=1, fail_fast=True)


class _Logprobs(BaseModel):
    content: list[_Position] = Field(min_length=1, fail_fast=True)


def read_first_token(model: str, body: str | bytes) -> FirstToken:
    """The likeliest first tokens in a completion, which may be cut off after one token.

    Raises `NoLogprobs` if they are absent or in another form, and otherwise as `read_choice` does.
    """
    choice, usage = read_choice(model, body)
    try:
        first = _Logprobs.model_validate(choice.logprobs).content[0]
    except ValidationError as error:
        raise NoLogprobs(f"{model} replied without log-probabilities of its tokens.", usage) from error
    probabilities: defaultdict[str, float] = defaultdict(float)
    for one in first.top_logprobs[:MOST_LIKELY]:
        # Parts of a character can share their text; rounding can lift a logarithm a little above 0.
        probabilities[one.token] += math.exp(min(one.logprob, 0.0))
    return FirstToken(probabilities=dict(probabilities), model=model, usage=usage)
