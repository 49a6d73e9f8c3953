"""How many lessons are worth it: fewer while they bring nothing, more than usual when the pool drifts.

A lesson costs a call of the model, and what it brings can be measured. The pace is a share of the usual number of
lessons (`memshare.memory_service.admit.lessons.worth_learning`), 1 at first. After `WINDOW` lessons:

- gain = held-out accuracy after - before, summed over the versions published in these lessons;
- gain ≥ `LEAST_GAIN`: the share doubles (at most 1, or what it was);
- else it is halved, or quartered where no lesson had anything to tell apart (at least `LEAST_SHARE`).

The first `PATIENCE` lessons that had something to tell apart are not judged by their gain: a retriever that has just
begun publishes little, and would learn nothing more if it were thinned out for that.

A pool drifts when what is learnt no longer fits what comes in. Each lesson is an exam before it is learnt: how well
does the version in use rank its candidates? Once `ENOUGH` new ones are ranked worse by `DRIFT` than those of the window
before, or at once have something to tell apart where earlier ones had not, the share is `AGAIN`, and it begins anew.
"""

from __future__ import annotations

from memshare.broker.wire.lessons import Lesson
from memshare.broker.wire.messages import Message

WINDOW = 40  # lessons
PATIENCE = 200
LEAST_GAIN = 0.01  # of held-out accuracy, 0 to 1, in a window
LEAST_SHARE = 1 / 16  # of the usual number, so that a drift is seen
AGAIN = 4.0  # times the usual number, which a pool that has grown large has brought down
ENOUGH = 6  # lessons that tell of a drift: their mean is off by about .1 by chance
DRIFT = 0.25  # of accuracy
MOST_TELL = 0.5  # of the lessons, where at most `FEW_TELL` of those before had something to tell apart
FEW_TELL = 0.1


class Window(Message):
    """What some lessons came to: how many there were, how many told apart, and their sums of accuracies."""

    lessons: int = 0
    telling: int = 0
    gain: float = 0.0
    examined: int = 0
    accuracy: float = 0.0

    def with_lesson(self, lesson: Lesson) -> Window:
        """The same with one lesson more."""
        gained = 0.0
        if lesson.version is not None:
            gained = (lesson.accuracy_after or 0.0) - (lesson.accuracy_before or 0.0)
        return Window(
            lessons=self.lessons + 1,
            telling=self.telling + (lesson.outcome != "no update"),
            gain=self.gain + gained,
            examined=self.examined + (lesson.accuracy_at_first is not None),
            accuracy=self.accuracy + (lesson.accuracy_at_first or 0.0),
        )


class Pace(Message):
    """The share of the usual number of lessons that are worth it, and what it is worked out from.

    `told` counts the lessons of all windows so far that had something to tell apart.
    """

    share: float = 1.0
    told: int = 0
    now: Window = Window()
    before: Window = Window()

    def after(self, lesson: Lesson) -> Pace:
        """The pace once a lesson is through."""
        now = self.now.with_lesson(lesson)
        if (self.share < 1 or self.told >= PATIENCE) and _drifted(self.before, now):
            return Pace(share=AGAIN)
        if now.lessons < WINDOW:
            return self.model_copy(update={"now": now})
        told = self.told + now.telling
        share = min(max(1.0, self.share), max(LEAST_SHARE, self.share * _factor(now, told)))
        return Pace(share=share, told=told, before=now)


def _factor(window: Window, told: int) -> float:
    """By how much a window changes the share, once so many lessons had something to tell apart."""
    if not window.telling:
        return 1 / 4
    if told < PATIENCE:
        return 1.0
    return 2.0 if window.gain >= LEAST_GAIN else 1 / 2


def _drifted(before: Window, now: Window) -> bool:
    if now.lessons >= ENOUGH and before.lessons and before.telling <= FEW_TELL * before.lessons:
        return now.telling > MOST_TELL * now.lessons
    if now.examined < ENOUGH or before.examined < ENOUGH:
        return False
    return now.accuracy / now.examined < before.accuracy / before.examined - DRIFT
