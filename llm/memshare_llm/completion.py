"""Reading a chat completion: the JSON body that every compatible server sends."""

from __future__ import annotations

import json
import re
from math import ceil
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from memshare_broker.errors import TryAgain
from memshare_broker.observe import tracing
from memshare_broker.observe.safe_text import masked
from memshare_broker.wire.messages import Usage
from memshare_broker.wire.same_text import is_blank
from memshare_llm.chat import RefusedReply, Reply, UselessReply

# How models write their reasoning where the server does not take it off: Qwen and DeepSeek, Magistral, Seed, Kimi,
# gpt-oss.
_TAGS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("◁think▷", "◁/think▷"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
)
_BEGINS = re.compile("|".join(re.escape(opening) for opening, _ in _TAGS), re.IGNORECASE)
_END_OF = {opening.lower(): re.compile(re.escape(closing), re.IGNORECASE) for opening, closing in _TAGS}
# Between quotation marks it is spoken of.
_ENDS = re.compile(f"(?<![`'\"])(?:{'|'.join(re.escape(closing) for _, closing in _TAGS)})(?![`'\"])", re.IGNORECASE)


def split_reasoning(text: str) -> tuple[str, str]:
    """The reasoning with which a text begins, and what follows it.

    Reasoning stands between tags, or ends with a closing one alone: some templates write the opening one for the
    model. Without its end all is reasoning. A tag further on is part of the answer.
    """
    thought: list[str] = []
    rest = text
    if (end := _ENDS.search(rest)) and not _BEGINS.search(rest, 0, end.start()):
        thought.append(rest[: end.start()].strip())
        rest = rest[end.end() :]
    while begin := _BEGINS.match(rest := rest.lstrip()):
        end = _END_OF[begin[0].lower()].search(rest, begin.end())
        thought.append(rest[begin.end() : end.start() if end else None].strip())
        rest = rest[end.end() :] if end else ""
    return ("\n".join(filter(None, thought)), rest.lstrip()) if thought else ("", text)


def whole_characters(text: str) -> str:
    """The text with its halves of characters joined, and � for each that stays alone."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


MAX_TEXT = 200_000
LONGEST_NAME = 200
MOST_CHOICES, MOST_PARTS = 128, 1_000
LONGEST_REPAIRED = 2_000_000  # bytes of a body that is no strict JSON and is read all the same

MOST_TOKENS = 10_000_000
"""Of one call. A server that tells more, or less than none, must neither use up a budget nor fill it again."""

_CUT_OFF = {"length", "model_length"}
_MOSTLY = 0.9  # share of white space from which a reply that was cut off would go on for ever
_COUNTED = re.compile(rb'"(prompt|completion)_tokens"\s*:\s*(\d{1,12})')


class _Part(BaseModel):
    """A part of a content that comes in parts: a text, or the model's reasoning."""

    type: Any = None
    text: Any = None
    thinking: Any = None


class _Message(BaseModel):
    content: str | Annotated[list[_Part], Field(max_length=MOST_PARTS, fail_fast=True)] | None = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None

    def said(self) -> tuple[str, str]:
        """The answer, and the reasoning that came with it: in a field of its own, in parts, or between tags."""
        parts = self.content if isinstance(self.content, list) else []
        told = (self.reasoning_content, self.reasoning, *map(_thought, parts))
        text = self.content if isinstance(self.content, str) else "".join(map(_text, parts))
        thought, answer = split_reasoning(whole_characters(text))
        # Some servers tell the same twice, under both names.
        apart = dict.fromkeys(one for one in told if isinstance(one, str) and one)
        return answer, "\n".join(filter(None, [whole_characters("".join(apart)).strip(), thought]))


class Choice(BaseModel):
    """A reply; `logprobs` is as it came."""

    message: _Message
    finish_reason: str | None = None
    logprobs: Any = None


class _Details(BaseModel):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _Details | None = None
    prompt_cache_hit_tokens: int | None = None  # DeepSeek's name


class _Completion(BaseModel):
    # The first wrong one is enough: a reply can hold a million of them, and each error takes a kilobyte.
    choices: list[Choice] = Field(min_length=1, max_length=MOST_CHOICES, fail_fast=True)
    usage: _Usage | None = None
    model: Any = None
    id: Any = None


def read_completion(model: str, body: str | bytes, *, structured: bool = False) -> Reply:
    """The reply in a completion. A `structured` one may be reasoning alone: some servers put its JSON there.

    Raises `UselessReply` if it is cut off or empty, `RefusedReply` if it is too long or was cut off in white space;
    else as `read_choice` does.
    """
    choice, usage = read_choice(model, body)
    text, reasoning = choice.message.said()
    usage = _with_reasoning(usage, len(reasoning), len(text))
    if choice.finish_reason in _CUT_OFF:
        _refuse_cut_off(model, text, reasoning, usage)
    if is_blank(text) and not (structured and reasoning):
        why = f": all that it wrote is reasoning ({usage.reasoning_tokens:,} tokens)" if reasoning else ""
        raise UselessReply(f"{model} sent an empty reply{why}.", "invalid reply", usage)
    if len(text) > MAX_TEXT:
        words = f"{model} sent {len(text):,} characters; at most {MAX_TEXT:,} are taken: ask for less."
        raise RefusedReply(words, "too long", usage)
    return Reply(text=text, model=model, usage=usage, reasoning=reasoning[:MAX_TEXT])


def _refuse_cut_off(model: str, text: str, reasoning: str, usage: Usage) -> None:
    if reasoning and is_blank(text):
        words = f"{model} spent all tokens of its limit on reasoning ({usage.reasoning_tokens:,}), and did not answer."
        raise UselessReply(words, "cut off", usage)
    words = f"{model} was cut off by its limit of tokens after {len(text):,} characters"
    if text and sum(map(str.isspace, text)) > _MOSTLY * len(text):
        raise RefusedReply(f"{words}, nearly all of them white space.", "cut off", usage)
    raise UselessReply(f"{words}.", "cut off", usage)


def read_choice(model: str, body: str | bytes) -> tuple[Choice, Usage]:
    """The first choice of a completion, whatever its text; unknown fields are ignored, absent usage counts as 0.

    Tokens are at least 0 and at most `MOST_TOKENS`.

    Raises `UselessReply` if it is no completion or broke off with an error, and `RefusedReply` if the model refused.
    """
    data = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    try:
        completion = _read(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        words = f"{model} sent something that is no chat completion: {where}: {first['msg']}"
        if not (counted := dict(_COUNTED.findall(data))):
            raise TryAgain(words, reason="invalid reply") from error
        # It was paid for all the same.
        spent = _Usage(prompt_tokens=counted.get(b"prompt", 0), completion_tokens=counted.get(b"completion", 0))
        raise UselessReply(words, "invalid reply", _bounded(spent)) from error
    choice, usage = completion.choices[0], _bounded(completion.usage or _Usage())
    tracing.note(
        {
            "gen_ai.response.model": _name(completion.model),
            "gen_ai.response.id": _name(completion.id),
            "gen_ai.response.finish_reasons": [reason] if (reason := _name(choice.finish_reason)) else None,
        }
    )
    if choice.message.refusal:
        raise RefusedReply(f"{model} refused: {masked(choice.message.refusal[:2_000])[:500]}", "refused", usage)
    if choice.finish_reason == "content_filter":
        raise RefusedReply(f"{model} refused: its content filter stopped the answer.", "content filter", usage)
    if choice.finish_reason == "error":
        raise UselessReply(f"{model} broke off with an error of its own.", "server error", usage)
    return choice, usage


def _read(body: bytes) -> _Completion:
    try:
        return _Completion.model_validate_json(body)
    except ValidationError as error:
        if error.errors()[0]["type"] != "json_invalid" or len(body) > LONGEST_REPAIRED:
            raise
        # Half a character as an escape, or bytes that are not UTF-8, are no reason to ask and pay again.
        try:
            found = json.loads(body.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            raise error from None
        return _Completion.model_validate(found)


def _name(told: object) -> str | None:
    """A name that a server gave its reply, for a trace."""
    return told[:LONGEST_NAME] if isinstance(told, str) and told else None


def _text(part: _Part) -> str:
    return part.text if isinstance(part.text, str) and not _is_reasoning(part) else ""


def _thought(part: _Part) -> str:
    if isinstance(part.thinking, list):
        texts = [one.get("text") for one in part.thinking if isinstance(one, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    if isinstance(part.thinking, str):
        return part.thinking
    return part.text if isinstance(part.text, str) and _is_reasoning(part) else ""


def _is_reasoning(part: _Part) -> bool:
    return part.type in ("thinking", "reasoning", "redacted_thinking")


def _bounded(told: _Usage) -> Usage:
    """Tokens as they are booked; of a prompt or a completion no more can be cached or reasoning than it has."""
    prompt, completion = _count(told.prompt_tokens), _count(told.completion_tokens)
    cached = (told.prompt_tokens_details or _Details()).cached_tokens or told.prompt_cache_hit_tokens
    reasoning = (told.completion_tokens_details or _Details()).reasoning_tokens
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=min(_count(cached), prompt),
        reasoning_tokens=min(_count(reasoning), completion),
    )


def _count(tokens: int | None) -> int:
    return min(max(tokens or 0, 0), MOST_TOKENS)


def _with_reasoning(usage: Usage, reasoning: int, answer: int) -> Usage:
    """The usage with the tokens of its reasoning, by their share of the characters where the server does not count."""
    if usage.reasoning_tokens or not reasoning:
        return usage
    return usage.model_copy(
        update={"reasoning_tokens": ceil(usage.completion_tokens * reasoning / (reasoning + answer))}
    )
