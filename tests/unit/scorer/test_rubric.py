from __future__ import annotations

import os
from pathlib import Path

import pytest

from memshare_broker.errors import BadInput
from memshare_scorer.rubric import BUNDLED, Rubric, all_rubrics, find_rubric
from memshare_scorer.rubric_file import approve

FILE = """\
domain = "Recipes"

[[criteria]]
name = "taste"
points = 70
description = "Low: bland; full: delicious."

[[criteria]]
name = "colour"
points = 30
kinds = ["salad"]
description = "Low: grey; full: bright."
"""


def in_folder(folder: Path, text: str, name: str = "recipe") -> Rubric:
    file = folder / f"{name}.rubric.toml"
    before = file.stat().st_mtime_ns if file.exists() else 0
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(before + 10**9, before + 10**9))  # some file systems count in whole seconds
    return find_rubric(name, folder)


def test_every_bundled_rubric_is_approved_and_its_points_sum_to_100() -> None:
    rubrics = all_rubrics(None)

    assert list(rubrics) == ["integrated", "logic", "plan", "poem"]
    for name, rubric in rubrics.items():
        assert rubric.name == name
        assert rubric.approved, f"{name} has been edited: its version is {rubric.version}"
        assert sum(criterion.points for criterion in rubric.criteria) == 100
        assert rubric.threshold == 81


def test_a_criterion_that_names_kinds_applies_to_these_alone() -> None:
    poem = find_rubric("poem", None)

    limerick, sonnet, no_kind = (
        {criterion.name for criterion in poem.for_kind(kind)} for kind in ("limerick", "sonnet", None)
    )

    assert limerick - sonnet == {"humour_and_wit"}
    assert sonnet - limerick == {"educational_value"}
    assert "rhyme_scheme_adherence" in sonnet
    assert "rhyme_scheme_adherence" not in no_kind
    assert no_kind


def test_the_bands_of_a_criterion_are_part_of_what_the_grader_reads() -> None:
    accuracy = find_rubric("integrated", None).criteria[0]

    assert accuracy.description in accuracy.explanation
    assert all(band.capitalize() + ": " in accuracy.explanation for band in ("full", "most", "part", "none"))


def test_an_edited_rubric_is_no_longer_approved(tmp_path: Path) -> None:
    bundled = (BUNDLED / "plan.toml").read_text(encoding="utf-8")
    assert in_folder(tmp_path, bundled, "plan").approved

    edited = in_folder(tmp_path, bundled.replace("general advice", "no advice"), "plan")

    assert edited.approval is not None
    assert (edited.approved, edited.is_copy) == (False, False)


def test_an_approval_does_not_go_with_a_copy_of_the_file(tmp_path: Path) -> None:
    copy = in_folder(tmp_path, (BUNDLED / "plan.toml").read_text(encoding="utf-8"), "mine")

    assert (copy.approved, copy.is_copy) == (False, True)
    approved = approve(tmp_path / "mine.rubric.toml", "Ada", copy.version)
    assert (approved.approved, approved.is_copy) == (True, False)
    older = (tmp_path / "mine.rubric.toml").read_text().replace('rubric = "mine"\n', "")
    assert in_folder(tmp_path, older, "mine").approved, "no name was noted"


def test_another_threshold_leaves_the_approval_as_it_is(tmp_path: Path) -> None:
    bundled = (BUNDLED / "plan.toml").read_text(encoding="utf-8")

    moved = in_folder(tmp_path, bundled.replace("threshold = 81", 'threshold = "mean-of-seeds"'), "plan")

    assert moved.threshold == "mean-of-seeds"
    assert moved.approved


def test_a_rubric_is_read_again_once_its_file_has_changed(tmp_path: Path) -> None:
    first = in_folder(tmp_path, FILE)
    assert find_rubric("recipe", tmp_path) is first

    second = in_folder(tmp_path, FILE.replace("70", "60").replace("30", "40"))

    assert [criterion.points for criterion in second.criteria] == [60, 40]


def test_the_users_rubric_wins_over_a_bundled_one_of_its_name(tmp_path: Path) -> None:
    assert in_folder(tmp_path, FILE, "poem").domain == "Recipes"
    assert all_rubrics(tmp_path)["poem"].domain == "Recipes"


@pytest.mark.parametrize("name", ["haiku", "", "../rubrics/poem", "poem.toml"])
def test_an_unknown_rubric_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(BadInput, match=r"expected one of integrated, logic, plan, poem\."):
        find_rubric(name, None)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("points = 30", "points = 29", r":3: criteria: the points of all criteria must sum to 100, not 99\."),
        ('"colour"', '"taste"', r":3: criteria: .* 'taste' comes again\."),
        ('"colour"', '"Colour!"', r":9: criteria\.1\.name: expected a name such as 'rhyme_scheme'"),
        ("points = 70\n", 'points = 70\nkinds = ["soup"]\n', r"at least must apply to all kinds"),
        ("points = 70", "points = 0", r":5: criteria\.0\.points: .* not 0\."),
        ('"Recipes"', '"Recipes"\nthreshold = 101', r":2: threshold: expected a number from 0 to 100 or"),
        ('"Recipes"', '"Recipes"\nthreshold = "high"', r":2: threshold: .* not 'high'\."),
        ('"Recipes"', '" "', r":1: domain: "),
        ("bright.", "bright \\u001b[31m.", r":12: criteria\.1\.description: .* cannot be printed"),
    ],
)
def test_a_broken_rubric_is_refused_with_file_line_and_reason(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    assert old in FILE

    with pytest.raises(BadInput, match=r"recipe\.rubric\.toml.*" + expected):
        in_folder(tmp_path, FILE.replace(old, new))
