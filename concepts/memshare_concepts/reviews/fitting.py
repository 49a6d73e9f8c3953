"""Fits how fast a person forgets to their reviews, in a process of its own: fsrs needs torch for it.

`python -m memshare_concepts.reviews.fitting` reads the reviews of each card as JSON from standard input and writes a
`Fitted` to standard output. Only the first four fifths of the reviews are learnt from; the rest decides whether the
result is any better than the usual parameters.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import log

from fsrs import Rating, ReviewLog, Scheduler
from pydantic import TypeAdapter

from memshare_broker.child_processes.python import python
from memshare_broker.errors import MemshareError
from memshare_concepts.reviews.card import GRADES, Review, replayed, scheduler_of
from memshare_concepts.reviews.card_store import Fitted

FEWEST = 400
"""Reviews from which on it is worth trying."""

LEARNT_FROM = 0.8
"""The share of the reviews, the oldest ones, that the parameters are fitted to."""

PATIENCE = 600.0  # seconds
DAY = 86_400

Histories = Sequence[Sequence[Review]]
_HISTORIES: TypeAdapter[list[tuple[Review, ...]]] = TypeAdapter(list[tuple[Review, ...]])


def fit_apart(histories: Histories) -> Fitted:
    """Fit in a process of its own. Raises `MemshareError` where that fails, such as without torch."""
    done = subprocess.run(
        python("-m", "memshare_concepts.reviews.fitting"),
        input=_HISTORIES.dump_json([tuple(one) for one in histories]),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no reason was given"]
        raise MemshareError(
            f"Nothing was fitted: {last[0]}. It needs torch and pandas: pip install 'memshare[trainer]'. Reviews go on"
            " with what was used so far."
        )
    return Fitted.model_validate_json(done.stdout)


def fit(histories: Histories) -> Fitted:
    """Fit parameters to the older reviews, and compare them with the usual ones on the newer ones."""
    from fsrs import Optimizer  # loads torch

    times = sorted(review.at for history in histories for review in history)
    since = times[int(LEARNT_FROM * len(times))]
    logs = [
        ReviewLog(number, Rating(GRADES.index(one.grade) + 1), datetime.fromtimestamp(one.at, UTC), None)
        for number, history in enumerate(histories)
        for one in history
        if one.at < since
    ]
    parameters = Optimizer(logs).compute_optimal_parameters()
    return Fitted(
        reviews=len(times),
        usual_loss=log_loss(scheduler_of(None), histories, since),
        fitted_loss=log_loss(scheduler_of(parameters), histories, since),
        parameters=tuple(parameters),
        at=time.time(),
    )


def log_loss(scheduler: Scheduler, histories: Histories, since: float) -> float:
    """The mean of -ln of the probability that was given to what happened, over reviews from `since` on.

    As in fsrs, a review counts that came a day or more after the one before. 0 where none did.
    """
    losses = [
        -log(min(max(known if review.grade != "again" else 1 - known, 1e-9), 1.0))
        for history in histories
        for known, review in _foretold(scheduler, history)
        if review.at >= since
    ]
    return sum(losses) / len(losses) if losses else 0.0


def _foretold(scheduler: Scheduler, history: Sequence[Review]) -> Iterable[tuple[float, Review]]:
    """Each later review of a card, with the probability of remembering it."""
    for number in range(1, len(history)):
        before, review = history[:number], history[number]
        if review.at - before[-1].at >= DAY:
            moment = datetime.fromtimestamp(review.at, UTC)
            yield scheduler.get_card_retrievability(replayed(scheduler, before), moment), review


def main() -> None:
    """Read histories, write what was fitted."""
    print(fit(_HISTORIES.validate_json(sys.stdin.buffer.read())).model_dump_json())


if __name__ == "__main__":
    main()
