"""What the chat server of the tests answers: one `Answer` for each request body."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.grades import judged, ranges
from tests.support.schema_value import schema_value


@dataclass(frozen=True)
class Answer:
    """What the server does with one request; as it stands, it replies well and at once.

    `text` is the reply, or from status 400 on the error's words (with `code`); `raw` replaces the whole body.
    `logprobs` are the likeliest first tokens with their log-probabilities, sent where they were asked for.
    `delay` is the seconds before the response, `trickle` those that its body takes, in ten parts;
    `cut` closes the connection in the middle of the body.
    """

    text: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str | None = None
    finish_reason: str = "stop"
    refusal: str | None = None
    logprobs: Mapping[str, float] | None = None
    usage: bool = True
    delay: float = 0.0
    trickle: float = 0.0
    cut: bool = False
    raw: bytes | None = None


Script = Callable[[dict[str, Any]], Answer]


def well(_body: dict[str, Any]) -> Answer:
    """The script of a server without faults."""
    return Answer()


def in_turn(*answers: Answer) -> Script:
    """A script that gives one answer after the other, and then the last one for ever."""
    waiting = list(answers)
    lock = threading.Lock()

    def script(_body: dict[str, Any]) -> Answer:
        with lock:
            return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return script


def encode(body: dict[str, Any], answer: Answer) -> bytes:
    """The body of the response, in the form that OpenAI and Mistral share."""
    if answer.raw is not None:
        return answer.raw
    if answer.status >= 400:
        error = {"message": answer.text or "no words", "type": answer.code, "code": answer.code}
        return json.dumps({"error": error}).encode()
    text = _default_text(body) if answer.text is None else answer.text
    message = {"role": "assistant", "content": None if answer.refusal else text, "refusal": answer.refusal}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": answer.finish_reason}
    if answer.logprobs and body.get("logprobs"):
        choice["logprobs"] = {"content": [_position(answer.logprobs)]}
    completion: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [choice],
    }
    if answer.usage:
        asked = sum(len(turn["content"].split()) for turn in body["messages"])
        said = len(text.split())
        completion["usage"] = {
            "prompt_tokens": asked,
            "completion_tokens": said,
            "total_tokens": asked + said,
        }
    return json.dumps(completion).encode()


def _position(logprobs: Mapping[str, float]) -> dict[str, Any]:
    likely = [{"token": token, "logprob": value, "bytes": [*token.encode()]} for token, value in logprobs.items()]
    return {**likely[0], "top_logprobs": likely}


def _default_text(body: dict[str, Any]) -> str:
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        return json.dumps(ranges(body, 0.9) or judged(body) or schema_value(wanted["json_schema"]["schema"]))
    asked = [turn["content"] for turn in body["messages"] if turn["role"] == "user"]
    return f"Reply to: {asked[-1]}"
