"""Grades a prompt-answer pair by what can be measured in it: lines, rhyme, coverage of the prompt and the like."""

from __future__ import annotations

import re
from collections import Counter
from statistics import fmean, pstdev

from pydantic import BaseModel

from tests.support.inventing_model.words import is_chinese, key, tokens, topics

# Lines and words that an answer of a kind usually has.
_SIZES = {"limerick": (5, 35), "wuyanlvshi": (8, 40), "sonnet": (14, 100)}
_SIZES |= {"puzzle": (6, 70), "riddle": (6, 50), "pun": (2, 45)}
_SIZES |= dict.fromkeys(("study", "travel", "fitness"), (7, 120))

# Parts of a criterion's name, and the measures that speak for it; the first that fits counts.
_MEASURES = {
    "rational|reason|feasib|difficult|logic": ("reasons", "concreteness", "length"),
    "rhyme|metr|rhythm": ("rhyme", "structure"),
    "struct|form|clar|cohe|consisten": ("structure", "variety", "length"),
    "relevan|align|them|accura|correct|cover|complet|question": ("coverage", "length", "structure"),
    "detail|specific|imag|educat|authentic": ("concreteness", "length"),
    "creativ|innovat|humou?r|engag|insight|litera": ("concreteness", "variety"),
    "": ("structure", "coverage", "concreteness", "length", "variety"),
}
_REASON = re.compile(r"\b(?:because|since|so|therefore|if|then|until|before|after)\b|因|故|所以|则")


class GradedPair(BaseModel):
    """The task of a grading conversation, as the scorer writes it."""

    criteria: dict[str, tuple[float, str]]
    kind: str | None = None
    prompt: str
    answer: str


def grade(task: str) -> dict[str, dict[str, float]]:
    """A low and a high per criterion, wider where its measures disagree; `ValidationError` if `task` is another one."""
    pair = GradedPair.model_validate_json(task)
    measures, ranges = measure(pair.kind, pair.prompt, pair.answer), {}
    for name, (points, _) in pair.criteria.items():
        names = next(names for parts, names in _MEASURES.items() if re.search(parts, name))
        found = [measures[name] for name in names]
        share = fmean(found) * (0.5 + 0.5 * measures["coverage"])  # off the topic, form earns less
        half = 0.03 + 0.1 * pstdev(found)
        low, high = max(0.0, share - half), min(1.0, share + half)
        ranges[name] = {"low": low * points, "high": high * points}
    return ranges


def measure(kind: str | None, prompt: str, answer: str) -> dict[str, float]:
    """The measures of a pair, each from 0 to 1."""
    wanted_lines, wanted_words = _SIZES.get(kind or "", (3, 60))
    lines = [line for line in map(tokens, re.split(r"[，。！？；\n]", answer)) if line]  # in Chinese, clauses
    words = [word for line in lines for word in line]
    said, asked = [key(word) for word in topics(words)], {key(word) for word in topics(tokens(prompt))}
    return {
        # A form has just so many lines; any other answer at least a few.
        "structure": _share(len(lines), wanted_lines) * (_share(wanted_lines, len(lines)) if kind in _SIZES else 1),
        "rhyme": _rhyme(lines, wanted_lines, is_chinese(answer)),
        "coverage": _share(len(asked & {*said}), 0.8 * len(asked)),
        "concreteness": _share(len({*said}), 0.5 * wanted_words),
        "length": _share(len(words), wanted_words) * _share(3 * wanted_words, len(words)),
        "variety": _share(1.5 * len({*said}), len(said) or 1),
        "reasons": _share(len({*_REASON.findall(answer.lower())}), 4),
    }


def _share(have: float, wanted: float) -> float:
    return min(1.0, have / wanted) if wanted else 1.0


def _rhyme(lines: list[list[str]], wanted: int, chinese: bool) -> float:
    """The share of lines whose last word ends like another one; in Chinese, of lines as long as most are."""
    if chinese:
        return max(Counter(map(len, lines)).values()) / max(wanted, len(lines))
    last_words = [line[-1].lower() for line in lines]
    endings = Counter(word[-2:] for word in set(last_words))
    return _share(sum(endings[word[-2:]] > 1 for word in last_words), max(wanted, len(lines)))
