"""A small chart of held-out accuracy over lessons, in characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotext
from rich.text import Text

HEIGHT = 13  # lines


class Point(NamedTuple):
    """What became of one lesson: its number, and the accuracy of the version it made, which may have been refused."""

    lesson: int
    accuracy: float
    refused: bool


def chart(points: Sequence[Point], width: int) -> Text:
    """The points, of which there is at least one, over the numbers of their lessons, `width` characters wide."""
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plotsize(width, HEIGHT)
    for refused, mark, colour, label in ((True, "×", "red", "refused"), (False, "●", "green", "published")):
        chosen = [point for point in points if point.refused is refused]
        if chosen:
            lessons, accuracies = [one.lesson for one in chosen], [one.accuracy for one in chosen]
            plotext.scatter(lessons, accuracies, marker=mark, color=colour, label=label)
    plotext.xlabel("lessons")
    return Text.from_ansi(plotext.build(), no_wrap=True)
