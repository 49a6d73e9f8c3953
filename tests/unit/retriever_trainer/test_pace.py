from __future__ import annotations

import pytest

from memshare.broker.wire.lessons import Lesson
from memshare.retriever_trainer.pace import AGAIN, LEAST_SHARE, PATIENCE, WINDOW, Pace

NOTHING_TO_TELL = Lesson(outcome="no update", reason="all help")
UNCHECKED = Lesson(outcome="learnt", reason="no version yet")
GROWN = Pace(told=PATIENCE)  # it has learnt for long enough to be judged


def taught(gain: float, at_first: float = 0.8) -> Lesson:
    """A lesson whose version ranks the held-out lessons better by so much."""
    return Lesson(
        outcome="learnt",
        reason="",
        accuracy_before=0.5,
        accuracy_after=0.5 + gain,
        accuracy_at_first=at_first,
        version=1,
    )


def after(pace: Pace, *lessons: Lesson) -> Pace:
    for lesson in lessons:
        pace = pace.after(lesson)
    return pace


def lessons_until(pace: Pace, share: float, lesson: Lesson) -> int:
    for number in range(1, 500):
        pace = pace.after(lesson)
        if pace.share <= share:
            return number
    pytest.fail(f"the share never came down to {share}")


def test_lessons_that_never_tell_anything_apart_are_thinned_out_to_the_least_in_two_windows() -> None:
    assert lessons_until(Pace(), LEAST_SHARE, NOTHING_TO_TELL) == 2 * WINDOW


def test_lessons_that_bring_nothing_halve_the_share_and_never_end_it() -> None:
    idle = [taught(0.0)] * WINDOW

    shares = [after(GROWN, *idle * times).share for times in range(1, 8)]

    assert shares == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 16, 1 / 16, 1 / 16]


def test_lessons_that_bring_something_keep_coming_and_come_back() -> None:
    useful = [taught(0.002)] * WINDOW

    assert after(GROWN, *useful * 5).share == 1
    assert after(Pace(share=1 / 8, told=PATIENCE), *useful).share == 1 / 4


def test_a_retriever_that_has_just_begun_is_not_judged_by_its_gain() -> None:
    assert after(Pace(), *[UNCHECKED] * (PATIENCE - 1)).share == 1
    assert after(Pace(), *[UNCHECKED] * (PATIENCE + WINDOW)).share < 1


def test_a_lesson_that_is_refused_brings_nothing() -> None:
    refused = taught(-0.2).model_copy(update={"version": None, "refused": True})

    assert after(GROWN, *[refused] * WINDOW).share == 1 / 2


def test_a_pool_that_drifts_is_learnt_from_more_than_usual_within_a_few_lessons() -> None:
    settled = after(GROWN, *[taught(0.0)] * 4 * WINDOW)
    assert settled.share == LEAST_SHARE

    drifted = after(settled, *[taught(0.0, at_first=0.4)] * 6)

    assert drifted.share == AGAIN
    assert after(settled, *[taught(0.0, at_first=0.7)] * 6).share == LEAST_SHARE
    assert after(GROWN, *[taught(0.02)] * WINDOW, *[taught(0.0, at_first=0.4)] * 6).share == AGAIN


def test_after_a_drift_the_share_comes_down_again_once_nothing_is_gained() -> None:
    drifted = Pace(share=AGAIN, told=PATIENCE)

    assert after(drifted, *[taught(0.002)] * WINDOW).share == AGAIN
    assert [after(drifted, *[taught(0.0)] * WINDOW * times).share for times in (1, 2, 3)] == [2, 1, 1 / 2]


def test_a_pool_in_which_lessons_begin_to_tell_is_learnt_from_more_than_usual() -> None:
    idle = after(Pace(), *[NOTHING_TO_TELL] * 2 * WINDOW)
    assert idle.share == LEAST_SHARE

    assert after(idle, NOTHING_TO_TELL, NOTHING_TO_TELL, *[UNCHECKED] * 4).share == AGAIN
    assert after(idle, *[NOTHING_TO_TELL] * 5, UNCHECKED).share == LEAST_SHARE
