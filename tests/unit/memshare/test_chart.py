from __future__ import annotations

from memshare.chart import Point, chart


def lines(points: list[Point], width: int = 40) -> list[str]:
    return chart(points, width).plain.splitlines()


def test_published_and_refused_versions_are_told_apart_and_higher_is_better() -> None:
    drawn = lines([Point(10, 0.5, False), Point(20, 0.9, False), Point(30, 0.6, True)], width=60)

    marks = {mark: [(row, line.rindex(mark)) for row, line in enumerate(drawn) if mark in line] for mark in "●×"}
    (best, *_, worst), refused = marks["●"], marks["×"][-1]
    assert best[0] < refused[0] < worst[0]
    assert worst[1] < best[1] < refused[1]
    assert {"published", "refused"} <= set(" ".join(drawn).split())


def test_no_line_is_longer_than_the_width_however_many_lessons_there_are() -> None:
    drawn = lines([Point(lesson, 0.5 + lesson / 5000, False) for lesson in range(31, 2031)], width=60)

    assert max(map(len, drawn)) <= 60
    assert "lessons" in drawn[-1]


def test_one_lesson_is_a_chart() -> None:
    assert any("×" in line for line in lines([Point(7, 0.5, True)]))
