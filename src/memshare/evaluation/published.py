"""Lines of published data sets as they come: ComplexWebQuestions, WebQuestions and the claims of SciFact."""

from __future__ import annotations

import re
from typing import Any

from memshare_broker.errors import BadInput

YES, NO = "yes", "no"
CLOSED = {YES, NO}
"""Answers that many questions have."""
_OWN_FIELDS = ("claim", "evidence", "cited_doc_ids", "utterance", "targetValue", "question", "answers", "answer")
_VERDICTS = {"SUPPORT": YES, "CONTRADICT": NO}
_DESCRIBED = re.compile(r'\(description (?:"([^"]*)"|([^()]*))\)')


def as_item(line: dict[str, Any]) -> dict[str, Any]:
    """A line of these data sets as one with `prompt` and `answer`, of several answers the first; any other as it is.

    Raises `BadInput` where no answer stands in it, as in test sets that are kept back.
    """
    asked = question_of(line)
    if asked is None:
        return line
    prompt, answers = asked
    beside = {name: value for name, value in line.items() if name not in _OWN_FIELDS}
    return beside | {"prompt": prompt, "answer": answers[0]}


def question_of(line: dict[str, Any]) -> tuple[str, list[str]] | None:
    """The question of a line of these data sets with all its answers; None for any other line.

    Raises `BadInput` where no answer stands in it.
    """
    match line:
        case {"claim": str(claim), "evidence": dict(evidence)}:
            return f"Is it right, yes or no? {claim}", [_verdict(evidence)]
        case {"utterance": str(question), "targetValue": str(target)}:
            return question, _texts(_DESCRIBED.findall(target))
        case {"question": str(question), "answers": list(answers)}:
            return question, _texts(answers)
        case {"prompt": str(question), "answers": list(answers)} if "answer" not in line:
            return question, _texts(answers)
        case _:
            return None


def claim_of(line: dict[str, Any]) -> tuple[str, dict[str, str]] | None:
    """A claim of SciFact, and what each document says of it: yes or no; None for any other line.

    Raises `BadInput` where a document says neither.
    """
    match line:
        case {"claim": str(claim), "evidence": dict(evidence)}:
            return claim, {document: _verdict({document: found}) for document, found in evidence.items()}
        case _:
            return None


def _texts(answers: list[Any]) -> list[str]:
    """Answers as texts: they are texts, objects with one as `answer`, or stood in a description."""
    texts = []
    for one in answers:
        match one:
            case {"answer": str(text)} | str(text) | (str(text), "") | ("", str(text)) if text.strip():
                texts.append(text.strip())
    if not texts:
        raise BadInput("no answer stands in the line: give data whose answers are known")
    return texts


def _verdict(evidence: dict[str, Any]) -> str:
    """What the documents of a claim say of it."""
    match list(evidence.values()):
        case [[{"label": str(label)}, *_], *_] if label in _VERDICTS:
            return _VERDICTS[label]
    raise BadInput("no evidence supports or contradicts the claim: leave such claims out")
