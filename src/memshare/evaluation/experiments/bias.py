"""Does a pool that begins with bad memories recover?"""

from __future__ import annotations

from memshare.evaluation.data import Item
from memshare.evaluation.experiment import NO_MEMORIES, OWN, Experiment
from memshare.evaluation.experiments.growth import grow
from memshare.evaluation.lab import Lab, share_of
from memshare.evaluation.queues import Pair

BAD_OF = 4  # one of so many seeds stays as it is
USELESS, POOR = "spoiled to nothing", "cut in half"


def spoiled(items: list[Item]) -> list[Pair]:
    """Pairs with bad answers: every other one to something else, cut to three words or six
    characters of Chinese; the others the right one, cut."""
    return [
        Pair(item, _few(items[place - 1].answer), None, USELESS)
        if place % 2
        else Pair(item, half(item.answer), None, POOR)
        for place, item in enumerate(items)
    ]


def half(text: str) -> str:
    return text[: max(1, len(text) // 2)]


def _few(text: str) -> str:
    return " ".join(text.split()[:3])[:20] if text.isascii() else text[:6]


def run(lab: Lab) -> None:
    """Spoil three of four seeds, half of these to near nothing and half to about half, and let the pool grow."""
    seeds = lab.seeds
    bad = spoiled([pair.item for place, pair in enumerate(seeds) if place % BAD_OF])
    grades = lab.queues.grade(bad, lab.setup(OWN, lab.models[0]))
    scores = [grade.score for grade in grades if grade.score is not None]
    if scores:
        lab.notes.append(f"The {len(bad)} bad pairs were graded {min(scores):.0f} to {max(scores):.0f}.")
    for model in lab.models:
        own = lab.setup(OWN, model)
        grow(lab, own, [*seeds[::BAD_OF], *bad], share_of(lab.ids(own, bad), "bad memories shown"))


BIAS = Experiment(
    "bias",
    "A bad beginning",
    "Does a pool that begins with bad memories recover as it grows?",
    "Three of four seeds are spoiled before they are put into the pool: half of these have another question's answer, "
    "cut to three words, the others the first half of their own. Then the pool grows as in the experiment 'growth': "
    "what is measured is how new answers outgrow the bad ones, without credit (for that, see 'credibility').",
    lambda _: [OWN],
    run,
    baseline=NO_MEMORIES,
    by_phase=True,
)
