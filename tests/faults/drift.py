"""How far what a deployment takes has moved between a quarter of a soak and its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from tests.faults.pace import Answered
from tests.faults.usage import Look, RedisBytes

MOST = 0.05
PARTS, COMPARED = 15, 5
"""Parts of the time after the restarts: a figure of a worker is the median of one, latency that of five of them."""
OF_A_WORKER: tuple[tuple[str, str, Callable[[Look], float]], ...] = (
    ("memory", "MB", lambda look: look.rss / 1e6),
    ("open files", "", lambda look: look.files),
)


@dataclass(frozen=True)
class Drift:
    """One figure at a quarter of the run and at its end."""

    name: str
    unit: str
    early: float
    late: float

    @property
    def share(self) -> float:
        return (self.late - self.early) / self.early if self.early else 0.0

    @property
    def is_too_much(self) -> bool:
        return self.share > MOST

    @property
    def sentence(self) -> str:
        """It in words."""
        return f"{self.name} went from {self.early:,.1f} to {self.late:,.1f} {self.unit}, by {self.share:.1%}"


def drifts(
    looks: Sequence[Look],
    answered: Sequence[Answered],
    redis: tuple[RedisBytes, RedisBytes],
    begin: float,
    end: float,
) -> Iterator[Drift]:
    """Every figure of a run, from the second `begin` to its `end`."""
    part = (end - begin) / PARTS
    for what, unit, of in OF_A_WORKER:
        for name in dict.fromkeys(look.name for look in looks):
            early, late = (
                median(of(look) for look in looks if look.name == name and start <= look.at < start + part)
                for start in (begin, end - part)
            )
            yield Drift(f"{name}, {what}", unit, early, late)
    yield Drift("Redis, of a journey", "bytes", redis[0].of_a_journey, redis[1].of_a_journey)
    yield Drift("Redis, to work with", "bytes", redis[0].working, redis[1].working)
    for percentile in (50, 99):
        early, late = (
            1000 * median(_latencies(answered, percentile, start, part)) for start in (begin, end - COMPARED * part)
        )
        yield Drift(f"latency p{percentile}", "ms", early, late)


def _latencies(answered: Iterable[Answered], percentile: int, start: float, part: float) -> Iterator[float]:
    """A percentile of each of some parts, in seconds."""
    some = list(answered)
    for number in range(COMPARED):
        begins = start + number * part
        seconds = [one.seconds for one in some if begins <= one.due < begins + part]
        yield quantiles(seconds, n=100, method="inclusive")[percentile - 1]
