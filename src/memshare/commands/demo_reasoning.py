"""What `memshare demo --agent reasoning` prints: each question with its answer, and the tree of its steps."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from memshare.commands.trace_tree import draw
from memshare.console import console, panel, print_json, styled
from memshare.demo.reason import as_json
from memshare.journey import Journey


def show_journeys(journeys: Sequence[Journey], to_machine: bool) -> None:
    """Print the journeys of the questions; for a machine as one JSON document."""
    if to_machine:
        print_json({"model": journeys[0].model, "questions": [as_json(one) for one in journeys]})
        return
    for journey in journeys:
        console.print(draw(journey.prompt, journey.steps))
        answer = journey.answer or (journey.dead.error if journey.dead else "–")
        console.print(panel(answer, _verdict(journey)))
        console.print()
    verified = sum(bool(one.verified) for one in journeys)
    steps = sum(len(one.steps) for one in journeys)
    console.print(f"{verified} of {len(journeys)} answers were verified, in {steps} steps.")


def _verdict(journey: Journey) -> Text:
    if not journey.verified:
        return styled(("not verified", "yellow"), ": neither graded nor remembered")
    if journey.score is None:
        return styled(("verified", "green"), " · ", ("no grade", "red"))
    word = ("accepted", "green") if journey.score.accepted else ("not accepted", "yellow")
    return styled(("verified", "green"), f" · score {journey.score.total:.1f} · ", word)
