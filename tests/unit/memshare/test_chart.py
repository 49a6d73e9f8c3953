from __future__ import annotations

from memshare.chart import Point, chart


def lines(points: list[Point], width: int = 40) -> list[str]:
    return chart(points, width).plain.splitlines()


def test_published_and_refused_versions_are_told_apart_and_higher_is_better() -> None:
    drawn = lines([Point(1, 0.5, False), Point(2, 0.9, False), Point(3, 0.6, True)], width=60)

    inside = [line for line in drawn if "published" not in line and "refused" not in line]
    (best, worst) = [row for row, line in enumerate(inside) if "●" in line]
    (refused,) = [row for row, line in enumerate(inside) if "×" in line]
    assert best < refused < worst
    assert {"published", "refused"} <= set(" ".join(drawn).split())


def test_no_line_is_longer_than_the_width_however_many_lessons_there_are() -> None:
    drawn = lines([Point(lesson, 0.5 + lesson / 5000, False) for lesson in range(31, 2031)], width=60)

    assert max(map(len, drawn)) <= 60
    assert "lessons" in drawn[-1]


def test_one_lesson_is_a_chart() -> None:
    assert any("×" in line for line in lines([Point(7, 0.5, True)]))
