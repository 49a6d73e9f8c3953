"""Which labelled candidates a lesson teaches or checks with (INMS section 3.3)."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

LARGEST = 16  # v: half of them from either end. One call labels all candidates, so that more of them cost nothing
UNDECIDED = 0.5


class Selection(NamedTuple):
    """Indices of the candidates that the retriever is to find, and of those it is not to."""

    positives: tuple[int, ...]
    negatives: tuple[int, ...]

    @property
    def enough(self) -> bool:
        """Whether there is something to tell apart."""
        return bool(self.positives and self.negatives)


def select(labels: Sequence[float], barred: Container[int] = ()) -> Selection:
    """The clear ends of the ranking by P(¬Y), 0 to 1 per candidate; of equal ones the earlier ranks lower.

    The barred candidates are no positives: memories on probation, which nobody has yet spoken for.
    What is near the middle, or on the wrong side of it, teaches nothing: a good candidate must not become a
    negative because all are good.
    """
    ranking = sorted(range(len(labels)), key=lambda candidate: labels[candidate])
    half = LARGEST // 2
    return Selection(
        positives=tuple([one for one in ranking if labels[one] < UNDECIDED and one not in barred][:half]),
        negatives=tuple(candidate for candidate in ranking[-half:] if labels[candidate] > UNDECIDED),
    )


def sides(labels: Sequence[float], barred: Container[int] = ()) -> Selection:
    """Every candidate on its side of the middle: a held-out lesson teaches nothing, and tells more by all of them."""
    return Selection(
        positives=tuple(one for one, label in enumerate(labels) if label < UNDECIDED and one not in barred),
        negatives=tuple(one for one, label in enumerate(labels) if label > UNDECIDED),
    )
