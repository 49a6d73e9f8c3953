"""Lines of published data sets as they come: ComplexWebQuestions, WebQuestions and the claims of SciFact."""

from __future__ import annotations

import re
from typing import Any

from memshare_broker.errors import BadInput

YES, NO = "yes", "no"
CLOSED = {YES, NO}
"""Answers that many questions have."""
_VERDICTS = {"SUPPORT": YES, "CONTRADICT": NO}
_DESCRIBED = re.compile(r'\(description (?:"([^"]*)"|([^()]*))\)')


def as_item(line: dict[str, Any]) -> dict[str, Any]:
    """A line of these data sets as one with `prompt` and `answer`, of several answers the first; any other as it is.

    Raises `BadInput` where no answer stands in it, as in test sets that are kept back.
    """
    match line:
        case {"claim": str(claim), "evidence": dict(evidence)}:
            return {"prompt": f"Is it right, yes or no? {claim}", "answer": _verdict(evidence)}
        case {"utterance": str(question), "targetValue": str(target)}:
            return {"prompt": question, "answer": _first(_DESCRIBED.findall(target))}
        case {"question": str(question), "answers": list(answers)}:
            return _kept(line) | {"prompt": question, "answer": _first(answers)}
        case {"prompt": str(), "answers": list(answers)} if "answer" not in line:
            return _kept(line) | {"answer": _first(answers)}
        case _:
            return line


def _kept(line: dict[str, Any]) -> dict[str, Any]:
    """What a line says beside its question and its answers."""
    return {name: value for name, value in line.items() if name not in ("question", "answers", "answer")}


def _first(answers: list[Any]) -> str:
    """The first of some answers: texts, objects with one as `answer`, or what stood in a description."""
    for one in answers:
        match one:
            case {"answer": str(text)} | str(text) | (str(text), "") | ("", str(text)) if text.strip():
                return text.strip()
    raise BadInput("no answer stands in the line: give data whose answers are known")


def _verdict(evidence: dict[str, Any]) -> str:
    """What the documents of a claim say of it."""
    match list(evidence.values()):
        case [[{"label": str(label)}, *_], *_] if label in _VERDICTS:
            return _VERDICTS[label]
    raise BadInput("no evidence supports or contradicts the claim: leave such claims out")
