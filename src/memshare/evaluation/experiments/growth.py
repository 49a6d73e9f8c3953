"""Pools that grow: do answers get better, does a bad beginning heal, and what does a retriever that learns bring?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from memshare.evaluation.data import DataItem
from memshare.evaluation.experiment import NO_MEMORIES, OWN, Experiment, Times
from memshare.evaluation.lab import Lab, Marks, Measured, no_marks, share_of
from memshare.evaluation.queues import AnsweredItem
from memshare.evaluation.variants import Setup
from memshare.operate.consolidating import consolidate, retrievers_off, retrievers_on

MOST = 3


def run_memories(lab: Lab) -> None:
    """Begin with the seeds, let the queries add to the pool, then ask the test set with 0, 1, 2 and 3 memories."""
    for model in lab.models:
        own = lab.setup(OWN, model)
        lab.remember(f"seeds {model}", own, lab.seeds)
        lab.grow(f"grow {model}", own, lab.split.queries)
        for k in range(MOST + 1):
            lab.measure(NO_MEMORIES if k == 0 else f"{k} memor{'y' if k == 1 else 'ies'}", own, k=k)


MEMORIES = Experiment(
    "memories",
    "More memories in the prompt",
    "Do memories help, and how many of them?",
    "The pool begins with the seeds: standard answers with their questions. An answer to a query is added where its "
    "score is at least the mean of the seeds'. Each memory is a lesson for the retriever, and each answer gives credit "
    "to the memories it was shown. The test set is then answered with 0 to 3 memories.",
    run_memories,
    asked=Times(test=4, queries=1),
    settled=Times(queries=1, seeds=1),
    lessons=Times(queries=1, seeds=1),
    learns=True,
)


PHASES = ("0 %", "25 %", "50 %", "75 %", "100 %")  # of the queries answered
PHASES_FROM_20 = ("20 %", "40 %", "60 %", "80 %", "100 %")
GROWING = "3 memories"


def grow(
    lab: Lab, setup: Setup, begin: Sequence[AnsweredItem], marks: Marks = no_marks, phases: Sequence[str] = PHASES
) -> None:
    """Begin a pool with these pairs, and measure as it grows: at each phase an equal part of the queries more.

    What a phase has answered is settled at its end, and its lessons are learnt before the test set is asked.
    """
    lab.measure(NO_MEMORIES, setup, k=0)
    lab.remember(f"begin {setup.model}", setup, begin)
    growing = [phase for phase in phases if phase != PHASES[0]]
    if len(growing) < len(phases):
        lab.measure(GROWING, setup, phase=PHASES[0], marks=marks)
    for number, phase in enumerate(growing):
        lab.grow(f"{phase} {setup.model}", setup, lab.split.queries[number :: len(growing)])
        lab.measure(GROWING, setup, phase=phase, marks=marks)


def run_growth(lab: Lab, phases: Sequence[str] = PHASES) -> None:
    for model in lab.models:
        grow(lab, lab.setup(OWN, model), lab.seeds, phases=phases)


_METHOD = (
    "The pool begins with the seeds. In each phase {} of the queries is answered, and what is accepted (from "
    "the mean score of the seeds) is added at its end; then the test set is answered with three memories. Each memory "
    "is a lesson for the retriever, and each answer gives credit to the memories it was shown."
)
GROWTH = Experiment(
    "growth",
    "A growing pool",
    "Do answers get better as the pool grows?",
    _METHOD.format("a quarter"),
    run_growth,
    asked=Times(test=6, queries=1),
    settled=Times(queries=1, seeds=1),
    lessons=Times(queries=1, seeds=1),
    by_phase=True,
    learns=True,
)

GROWTH_FROM_20 = GROWTH._replace(
    name="growth-ms",
    title="A growing pool, from 20 %",
    question="Do answers get better as the pool grows, in the phases of the first versions of the paper?",
    method=_METHOD.format("a fifth"),
    run=partial(run_growth, phases=PHASES_FROM_20),
)


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


def run_bias(lab: Lab) -> None:
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


BIAS = GROWTH._replace(
    name="bias",
    title="A bad beginning",
    question="Does a pool that begins with bad memories recover as it grows?",
    method=(
        "Three of four seeds are spoiled before they are put into the pool: half of these have another question's "
        "answer, cut to a few words, and a score near 0, the others the first part of their own, and a score near 50. "
        "The scorer checks that, and what it grades otherwise is spoiled again. Then the pool grows as in the "
        "experiment 'growth', with the retriever learning and with credit."
    ),
    run=run_bias,
)


def run_retriever(lab: Lab) -> None:
    """Let ordinary tasks teach the retrievers, then measure them off, on and after a consolidation, on the same pools.

    The queries are answered one after the other: each one's lesson counts for the next.
    """
    setups = [lab.setup(OWN, model) for model in lab.models]
    for own in setups:
        lab.bring_in(f"seeds {own.model}", own, lab.seeds)
        lab.write("learn", own, lab.split.queries, remember=True, in_order=True)
    lab.change("adapters off", retrievers_off)
    for own in setups:
        lab.measure(NO_MEMORIES, own, k=0)
        lab.measure("untrained", own)
    lab.change("adapters on", retrievers_on)
    for own in setups:
        lab.measure("adapter", own)
    lab.notes += [said for model in lab.models if (said := equal(lab.measured, model))]
    if not lab.change("consolidate", consolidate):
        for own in setups:
            lab.measure("consolidated", own)


def equal(measured: Sequence[Measured], model: str) -> str | None:
    """A note on the tasks where adapter and encoder showed the same memories: if all, the conditions are equal."""
    found = [one for one in measured if one.model == model]
    alone = {one.item: one.shown for one in found if one.condition == "untrained"}
    adapted = [one for one in found if one.condition == "adapter"]
    if not adapted:
        return None
    if not any(one.retriever_version for one in adapted):
        return f"{model}: no version of a retriever was published, so 'adapter' is 'untrained'."
    same = sum(alone.get(one.item) == one.shown for one in adapted)
    if same < len(adapted):
        other = len(adapted) - same
        return f"{model}: the adapter showed other memories than the encoder alone in {other} of {len(adapted)} tasks."
    return (
        f"{model}: the adapter showed the memories of the encoder alone in all {same} tasks: 'adapter' is 'untrained'."
    )


RETRIEVER = Experiment(
    "retriever",
    "A retriever that learns",
    "What does it bring that the retriever learns from the pool?",
    "The queries are answered as ordinary tasks, and what is accepted becomes a memory and a lesson. Compared are the "
    "same pools with the encoder alone (untrained), with the adapters that learnt, and after the encoder was "
    "consolidated; the test set is answered with three memories each time.",
    run_retriever,
    asked=Times(test=4, queries=1),
    remembered=Times(queries=1),
    lessons=Times(queries=1),
)
