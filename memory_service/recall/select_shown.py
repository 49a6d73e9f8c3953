"""Which of the memories found are shown: never two with the same prompt, and not too many of one origin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from memshare.memory_service.memory import folded
from memshare.memory_service.stores.store import Hit

NEWCOMERS = 1  # of the memories shown, at most so many on probation


def choose(ranked: Iterable[Hit], k: int, each: int) -> list[Hit]:
    """The first `k` hits that may stand together: one for each prompt, `each` of a submitter, `NEWCOMERS` in all."""
    chosen: list[Hit] = []
    prompts: set[str] = set()
    submitters: Counter[str] = Counter()
    newcomers = 0
    for hit in ranked:
        memory, prompt = hit.memory, folded(hit.memory.key)
        new = memory.status == "probation"
        if prompt in prompts or submitters[memory.submitter] >= each or (new and newcomers >= NEWCOMERS):
            continue
        chosen.append(hit)
        prompts.add(prompt)
        submitters[memory.submitter] += 1
        newcomers += new
        if len(chosen) == k:
            break
    return chosen


def used_up(chosen: Iterable[Hit], each: int) -> tuple[list[str], bool]:
    """Submitters of whom no more may be shown beside these, and whether no newcomer may."""
    hits = list(chosen)
    counts = Counter(hit.memory.submitter for hit in hits)
    full = sorted(submitter for submitter, count in counts.items() if count >= each)
    return full, sum(hit.memory.status == "probation" for hit in hits) >= NEWCOMERS
