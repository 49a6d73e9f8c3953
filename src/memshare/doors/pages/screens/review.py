"""Review: a card of a pool at a time, made for a telephone, and what was done in a year."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from memshare.doors.pages.render import lasting
from memshare.doors.pages.visit import PAGES, Done, Screen, Visit
from memshare.operations.listings import pools
from memshare.operations.reviews import grade, reviews

HERE = "/review"
WEEKS = 53
STEPS = (1, 5, 15, 30)  # reviews of a day from which its square is darker
GRADES = (("again", "I forgot", "1"), ("hard", "Hard", "2"), ("good", "Good", "3"), ("easy", "Easy", "4"))
"""Grade, what its button says, and its key."""


@dataclass(frozen=True)
class Day:
    """A square of the heat map: its column and row, and how dark it is, 0 to 4."""

    day: str
    count: int
    week: int
    weekday: int
    level: int


@PAGES.screen(HERE)
def review(visit: Visit) -> Screen:
    """The next card, or when one comes back."""
    there = [one for one in pools(visit.backend, visit.caller) if one.memories]
    named = visit.field("pool") or (there[0].name if there else "")
    found = reviews(visit.backend, visit.caller, named) if named else None
    return Screen(
        "review",
        {
            "pools": there,
            "named": named,
            "found": found,
            "grades": GRADES,
            "days": _year(found.days) if found else [],
            "reviewed": sum(found.days.values()) if found else 0,
        },
    )


@PAGES.action(HERE)
def say(visit: Visit) -> Done:
    """Note how well a card was remembered, and go on to the next."""
    given = visit.given("pool", "memory_id", "grade")
    done = visit.ask("The review", grade, **given)
    comes_back = lasting(max(done.due - datetime.now(UTC).timestamp(), 0.0))
    return Done(f"{HERE}?{urlencode({'pool': given['pool']})}", f"It comes back in {comes_back}.")


def _year(counts: dict[str, int]) -> list[Day]:
    """The days of a year, week by week; the last one is today."""
    today = datetime.now(UTC).date()
    first = today - timedelta(days=today.weekday(), weeks=WEEKS - 1)
    found = []
    for number in range((today - first).days + 1):
        day = f"{first + timedelta(days=number):%Y-%m-%d}"
        count = counts.get(day, 0)
        found.append(Day(day, count, number // 7, number % 7, sum(count >= step for step in STEPS)))
    return found
