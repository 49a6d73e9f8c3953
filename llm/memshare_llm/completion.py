"""Reading a chat completion: the JSON body that every compatible server sends."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from memshare_broker.errors import TryAgain
from memshare_broker.observe.masking import masked
from memshare_broker.wire.messages import Usage
from memshare_llm.chat import RefusedReply, Reply, UselessReply

MAX_TEXT = 200_000
MOST_CHOICES, MOST_PARTS = 128, 1_000

MOST_TOKENS = 10_000_000
"""Of one call. A server that tells more, or less than none, must neither use up a budget nor fill it again."""

_CUT_OFF = {"length", "model_length"}


class _Part(BaseModel):
    """A part of a content that comes in parts; the parts without `text` are the model's reasoning."""

    text: str = ""


class _Message(BaseModel):
    content: str | Annotated[list[_Part], Field(max_length=MOST_PARTS, fail_fast=True)] | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class Choice(BaseModel):
    """A reply; `logprobs` is as it came."""

    message: _Message
    finish_reason: str | None = None
    logprobs: Any = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(BaseModel):
    # The first wrong one is enough: a reply can hold a million of them, and each error takes a kilobyte.
    choices: list[Choice] = Field(min_length=1, max_length=MOST_CHOICES, fail_fast=True)
    usage: _Usage | None = None


def read_completion(model: str, body: str | bytes) -> Reply:
    """The reply in a completion.

    Raises `UselessReply` if it is cut off or empty, `RefusedReply` if it is too long; else as `read_choice` does.
    """
    choice, usage = read_choice(model, body)
    text = choice.message.text
    if choice.finish_reason in _CUT_OFF:
        words = f"{model} was cut off by its limit of tokens after {len(text):,} characters."
        raise UselessReply(words, "cut off", usage)
    if not text.strip():
        raise UselessReply(f"{model} sent an empty reply.", "invalid reply", usage)
    if len(text) > MAX_TEXT:
        words = f"{model} sent {len(text):,} characters; at most {MAX_TEXT:,} are taken: ask for less."
        raise RefusedReply(words, "too long", usage)
    return Reply(text=text, model=model, usage=usage)


def read_choice(model: str, body: str | bytes) -> tuple[Choice, Usage]:
    """The first choice of a completion, whatever its text; unknown fields are ignored, absent usage counts as 0.

    Tokens are at least 0 and at most `MOST_TOKENS`.

    Raises `TryAgain` if it is no completion, `UselessReply` if it broke off with an error, and `RefusedReply` if
    the model refused.
    """
    try:
        completion = _Completion.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        words = f"{model} sent something that is no chat completion: {where}: {first['msg']}"
        raise TryAgain(words, reason="invalid reply") from error
    choice, told = completion.choices[0], completion.usage or _Usage()
    usage = Usage(prompt_tokens=_bounded(told.prompt_tokens), completion_tokens=_bounded(told.completion_tokens))
    if choice.message.refusal:
        raise RefusedReply(f"{model} refused: {masked(choice.message.refusal[:2_000])[:500]}", "refused", usage)
    if choice.finish_reason == "content_filter":
        raise RefusedReply(f"{model} refused: its content filter stopped the answer.", "refused", usage)
    if choice.finish_reason == "error":
        raise UselessReply(f"{model} broke off with an error of its own.", "server error", usage)
    return choice, usage


def _bounded(tokens: int | None) -> int:
    return min(max(tokens or 0, 0), MOST_TOKENS)
