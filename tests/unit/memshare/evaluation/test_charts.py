from __future__ import annotations

import struct
from pathlib import Path

from memshare.evaluation.report import draw
from tests.support.experiments import cell, result_of

CONDITIONS = [*cell("0 memories", (50, 60, 55)), *cell("3 memories", (70, 65, None), memories=3)]
PHASES = [
    *cell("0 memories", (50, 60)),
    *cell("3 memories", (40, 50), phase="0 %"),
    *cell("3 memories", (70, 80), phase="100 %"),
]


def names_in(svg: Path) -> list[str]:
    """The texts of a chart: they are drawn as outlines, with a comment before each that says what it is."""
    text = svg.read_text(encoding="utf-8")
    return [part.partition(" -->")[0] for part in text.split("<!-- ")[1:]]


def test_the_same_result_gives_the_same_bytes_and_another_one_others(tmp_path: Path) -> None:
    drawn = []
    for number, measured in enumerate((CONDITIONS, CONDITIONS, CONDITIONS[:-3] + cell("3 memories", (71, 65, None)))):
        folder = tmp_path / str(number)
        folder.mkdir()
        draw(result_of(measured), folder)
        drawn.append([(folder / name).read_bytes() for name in ("chart.svg", "chart.png")])
        assert sorted(file.name for file in folder.iterdir()) == ["chart.png", "chart.svg"]

    assert drawn[0] == drawn[1]
    assert drawn[0][0] != drawn[2][0]
    assert drawn[0][1] != drawn[2][1]


def test_conditions_are_bars_of_all_kinds_and_of_each(tmp_path: Path) -> None:
    draw(result_of(CONDITIONS), tmp_path)

    names = names_in(tmp_path / "chart.svg")
    assert {"all", "pun", "riddle", "0 memories", "3 memories"} <= set(names)


def test_phases_are_lines_beside_the_baseline(tmp_path: Path) -> None:
    draw(result_of(PHASES), tmp_path)

    names = names_in(tmp_path / "chart.svg")
    assert names.index("0 %") < names.index("100 %")
    assert {"0 memories", "3 memories"} <= set(names)


def test_of_several_models_each_has_a_line_and_a_baseline_of_its_own(tmp_path: Path) -> None:
    other = [one.model_copy(update={"model": "other"}) for one in PHASES]

    draw(result_of([*PHASES, *other]), tmp_path)

    names = names_in(tmp_path / "chart.svg")
    assert {"0 memories, other", "3 memories, other"} <= set(names)
    assert {"openai:one"} <= set(names)  # on a line of its own, as it is long


def test_a_name_with_dollars_is_no_formula(tmp_path: Path) -> None:
    measured = cell("0 memories", (50, 60), model="$\\x$") + cell("0 memories", (50, 60), model="b")

    draw(result_of(measured), tmp_path)

    assert "$\\x$" in names_in(tmp_path / "chart.svg")


def test_a_cell_in_which_every_task_failed_leaves_a_gap(tmp_path: Path) -> None:
    for name, measured in (("bars", CONDITIONS), ("lines", PHASES)):
        folder = tmp_path / name
        folder.mkdir()
        failed = [one.model_copy(update={"score": None}) for one in measured]

        draw(result_of(failed), folder)

        assert (folder / "chart.svg").stat().st_size > 1_000


def test_the_picture_is_sharp_enough_for_a_page_of_900_pixels(tmp_path: Path) -> None:
    draw(result_of(CONDITIONS), tmp_path)

    width, height = struct.unpack(">II", (tmp_path / "chart.png").read_bytes()[16:24])
    assert width == 1800
    assert height == 780
