"""Attributes in the words of OpenTelemetry's conventions for generative AI (open-telemetry/semantic-conventions-genai).

Texts are among them only where `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for them on spans, and masked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from memshare_broker.observe.masking import masked
from memshare_broker.wire.grades import Score
from memshare_broker.wire.messages import Message, Turn, Usage

Value = str | bool | int | float | Sequence[str] | None
Attributes = Mapping[str, Value]

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_ON_SPANS = frozenset({"true", "span_only", "span_and_event"})
_PROVIDERS = {"mistral": "mistral_ai"}  # where the conventions have another name
OWN = "memshare"  # the provider of an encoder, or an answer, that comes from no server


def takes_content() -> bool:
    """True if prompts, answers and memories are to stand in spans."""
    return os.environ.get(CONTENT, "").strip().lower() in _ON_SPANS


def operation(name: str, model: str) -> dict[str, Value]:
    """An operation on a model, which goes by `PROVIDER:NAME`, or by its name alone where it runs in this process."""
    provider, colon, rest = model.partition(":")
    return {
        "gen_ai.operation.name": name,
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider) if colon else OWN,
        "gen_ai.request.model": (rest if colon else model) or None,
    }


def tokens(usage: Usage | None) -> dict[str, Value]:
    """The tokens of calls; cached and reasoning ones where the provider told of any."""
    if usage is None:
        return {}
    return {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens or None,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens or None,
    }


def asked(turns: Iterable[Turn]) -> dict[str, Value]:
    """The turns of a prompt, where content is taken."""
    return _messages("input", [(turn.role, turn.content) for turn in turns])


def said(text: str) -> dict[str, Value]:
    """An answer that was not cut off, where content is taken."""
    return _messages("output", [("assistant", text)] if text else [], finish_reason="stop")


def invocation(agent: str, message: Message | None = None, record: Message | None = None) -> dict[str, Value]:
    """A run of an agent that ended with a record, or failed."""
    answer = getattr(record, "answer", "") or getattr(record, "question", "")
    return {
        **operation("invoke_agent", getattr(record, "model", "")),
        "gen_ai.agent.name": agent,
        **tokens(getattr(record, "usage", None)),
        **asked(getattr(message, "turns", ())),
        **said(answer),
    }


def retrieval(pool: str, k: int, query: str) -> dict[str, Value]:
    """A search for at most `k` memories of a pool."""
    return {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": pool,
        "gen_ai.retrieval.top_k": k,
        "gen_ai.retrieval.query.text": masked(query) if takes_content() else None,
    }


def retrieved(found: Iterable[tuple[str, float, str]]) -> dict[str, Value]:
    """The id, similarity and text of each memory that was found."""
    whole = takes_content()
    told = [{"id": name, "score": score} | ({"content": masked(text)} if whole else {}) for name, score, text in found]
    return {"gen_ai.retrieval.documents": json.dumps(told, ensure_ascii=False)}


def evaluations(score: Score) -> Iterator[dict[str, Value]]:
    """The grade, by its rubric's name, and the part of each criterion in it; all values are of 100."""
    verdict = "accepted" if score.accepted else "rejected"
    by = f"by {score.model}, rubric {score.rubric} ({score.rubric_version})"
    why = f"{score.total:g} of 100, and {score.threshold:g} is enough; {by}"
    yield _evaluation(score.rubric, score.total, why) | {"gen_ai.evaluation.score.label": verdict}
    for name, given in score.criteria.items():
        middle = 50 * (given.low + given.high) / given.points
        yield _evaluation(
            name, round(middle, 2), f"{given.low:.4g} to {given.high:.4g} of {given.points:.4g} points; {by}"
        )


def _evaluation(name: str, value: float, explanation: str) -> dict[str, Value]:
    return {
        "gen_ai.evaluation.name": name,
        "gen_ai.evaluation.score.value": value,
        "gen_ai.evaluation.explanation": explanation,
    }


def _messages(which: str, turns: Sequence[tuple[str, str]], **more: str) -> dict[str, Value]:
    if not turns or not takes_content():
        return {}
    parts = [(role, [{"type": "text", "content": masked(text)}]) for role, text in turns]
    told = [{"role": role, "parts": text, **more} for role, text in parts]
    return {f"gen_ai.{which}.messages": json.dumps(told, ensure_ascii=False)}
