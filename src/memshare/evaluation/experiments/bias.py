"""Does a pool that begins with bad memories recover?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memshare.evaluation.data import DataItem
from memshare.evaluation.experiment import NO_MEMORIES, OWN, Experiment, Times
from memshare.evaluation.experiments.growth import grow
from memshare.evaluation.lab import Lab, share_of
from memshare.evaluation.queues import AnsweredItem

BAD_OF = 4  # one of so many seeds stays as it is
USELESS, POOR = "spoiled to nothing", "cut in half"
BANDS = {USELESS: (0.0, 15.0), POOR: (35.0, 65.0)}  # of the score that each is made for
DRAWS = 5
NOTHING = ("…", "?")  # the last draws of what is worth nothing

Grade = Callable[[Sequence[AnsweredItem]], Sequence[float | None]]


def spoiled(items: list[DataItem]) -> list[AnsweredItem]:
    """Pairs with bad answers: every other one to something else, cut to three words or six
    characters of Chinese; the others the right one, cut."""
    return [
        AnsweredItem(item, _few(items[place - 1].answer), None, USELESS)
        if place % 2
        else AnsweredItem(item, _part(item.answer, 0.5), None, POOR)
        for place, item in enumerate(items)
    ]


def drawn(items: list[DataItem], grade: Grade) -> list[AnsweredItem]:
    """Spoiled pairs with their scores, half near 0 and half near 50: what is graded otherwise is spoiled again.

    After `DRAWS` draws the one that came nearest stays.
    """
    found: dict[int, AnsweredItem] = {}
    pairs, shares = spoiled(items), [0.5] * len(items)
    places = list(range(len(items)))
    for draw in range(DRAWS):
        scores = grade([pairs[place] for place in places])
        again = []
        for place, score in zip(places, scores, strict=True):
            pair = pairs[place]._replace(score=score)
            if place not in found or _distance(pair) < _distance(found[place]):
                found[place] = pair
            if _distance(pair) == 0 or score is None:
                continue
            again.append(place)
            shares[place] += (0.5 if score < BANDS[pair.by][0] else -0.5) / 2 ** (draw + 1)
            own, other = items[place].answer, items[place - 1].answer
            answer = _part(own, shares[place]) if pair.by == POOR else _less(other, draw)
            pairs[place] = pair._replace(answer=answer, score=None)
        places = again
    return [found[place] for place in range(len(items))]


def _distance(pair: AnsweredItem) -> float:
    """How far a score is from what the pair was made for."""
    low, high = BANDS[pair.by]
    return 100.0 if pair.score is None else max(low - pair.score, pair.score - high, 0.0)


def _part(text: str, share: float) -> str:
    return text[: max(1, int(len(text) * share))]


def _few(text: str) -> str:
    return " ".join(text.split()[:3])[:20] if text.isascii() else text[:6]


def _less(text: str, draw: int) -> str:
    """Less and less of another answer: a word or a character, then nothing that says anything."""
    return (text.split()[0][:10] if text.isascii() else text[0]) if draw == 0 else NOTHING[draw % len(NOTHING)]


def run(lab: Lab) -> None:
    """Spoil three of four seeds, half of these to near nothing and half to about half, and let the pool grow."""
    seeds, setup = lab.seeds, lab.setup(OWN, lab.models[0])
    bad = drawn(
        [pair.item for place, pair in enumerate(seeds) if place % BAD_OF],
        lambda pairs: [one.score for one in lab.queues.grade(pairs, setup)],
    )
    lab.notes.append(told(bad))
    for model in lab.models:
        own = lab.setup(OWN, model)
        grow(lab, own, [*seeds[::BAD_OF], *bad], share_of(lab.ids(own, bad), "bad memories shown"))


def told(bad: Sequence[AnsweredItem]) -> str:
    """How the scorer graded the bad pairs."""
    parts = []
    for name, (low, high) in BANDS.items():
        scores = [pair.score for pair in bad if pair.by == name and pair.score is not None]
        if scores:
            outside = sum(not low <= score <= high for score in scores)
            missed = f", {outside} of them outside {low:.0f} to {high:.0f} after {DRAWS} draws" if outside else ""
            parts.append(f"{len(scores)} {name}: graded {min(scores):.0f} to {max(scores):.0f}{missed}")
    return f"Bad pairs: {'; '.join(parts) or 'none'}."


BIAS = Experiment(
    "bias",
    "A bad beginning",
    "Does a pool that begins with bad memories recover as it grows?",
    "Three of four seeds are spoiled before they are put into the pool: half of these have another question's answer, "
    "cut to a few words, and a score near 0, the others the first part of their own, and a score near 50. The scorer "
    "checks that, and what it grades otherwise is spoiled again. Then the pool grows as in the experiment 'growth', "
    "with the retriever learning and with credit.",
    lambda _: [OWN],
    run,
    baseline=NO_MEMORIES,
    asked=Times(test=6, queries=1),
    settled=Times(queries=1, seeds=1),
    lessons=Times(queries=1, seeds=1),
    by_phase=True,
    learns=True,
)
