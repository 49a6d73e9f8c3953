"""Answers by analogy: what differs between the nearest example's prompt and the task is swapped in its answer."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

from tests.support.inventing_model.words import WORD, is_chinese, key, tokens, topics


class Example(NamedTuple):
    """An answered prompt; the prompt is empty where only the answer is known."""

    prompt: str
    answer: str


def answer(examples: list[Example], task: str) -> str:
    """The task in the form of the nearest example in its language (the last of equals); without any, a bare answer."""
    usable = [example for example in examples if is_chinese(example.answer) == is_chinese(task)]
    if not usable:
        return _bare(task)
    nearest = max(reversed(usable), key=lambda example: _overlap(example.prompt, task))
    prompt, asked = tokens(nearest.prompt)[:300], tokens(task)[:300]  # the time to align grows with their square
    carried = _swap(nearest.answer, _aligned(prompt, asked))
    return carried if carried != nearest.answer else _swap(carried, _most_frequent(carried, prompt, asked))


def _bare(task: str) -> str:
    about = list(dict.fromkeys(topics(tokens(task))))[:8]
    if is_chinese(task):
        return f"这里说的是{''.join(about)}。"
    return f"This is about {' and '.join(about) or 'the task'}."


def _overlap(prompt: str, task: str) -> float:
    """The words that both have as a share of all (Jaccard); in Chinese, of pairs of neighbouring characters."""
    words, others = ([key(word) for word in tokens(text)] for text in (prompt, task))
    ours, theirs = (set(pairwise(words)), set(pairwise(others))) if is_chinese(task) else (set(words), set(others))
    return len(ours & theirs) / (len(ours | theirs) or 1)


def _aligned(prompt: list[str], task: list[str]) -> dict[str, str]:
    """What replaces each topic of the prompt that is not in the task, where the task has another in its place."""
    swaps: dict[str, str] = {}
    ours, theirs = [key(word) for word in prompt], [key(word) for word in task]
    for tag, start, end, first, last in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag == "replace":
            pairs = zip(topics(prompt[start:end]), topics(task[first:last]), strict=False)
            swaps |= {key(old): new for old, new in pairs if key(old) not in theirs and old.isalpha() == new.isalpha()}
    return swaps


def _most_frequent(text: str, prompt: list[str], task: list[str]) -> dict[str, str]:
    """What replaces a few topics of a text that the task does not have: first its prompt's, then the most frequent."""
    in_prompt, in_task = ({key(word) for word in words} for words in (prompt, task))
    said = [key(word) for word in topics(tokens(text))]
    count = Counter(word for word in said if word not in in_task)
    ranked = sorted(count, key=lambda word: (word in in_prompt, count[word]), reverse=True)
    missing = dict.fromkeys(word for word in topics(task) if key(word) not in said)
    return dict(zip(ranked[:3], missing, strict=False))


def _swap(text: str, swaps: dict[str, str]) -> str:
    """The text with words replaced, capitalised where they were."""

    def replaced(found: re.Match[str]) -> str:
        old = found.group()
        new = swaps.get(key(old), old)
        return new[0].upper() + new[1:] if old[0].isupper() else new

    return WORD.sub(replaced, text)
