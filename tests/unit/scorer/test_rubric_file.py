from __future__ import annotations

import stat
from pathlib import Path

import pytest

from memshare_broker.errors import BadInput
from memshare_scorer.rubric import Rubric, find_rubric, read_rubric
from memshare_scorer.rubric_file import approve, withdraw, write

RUBRIC = Rubric.model_validate(
    {
        "domain": 'Recipes "for two"',
        "criteria": [
            {"name": "taste", "points": 70, "description": "Low: bland; full: delicious."},
            {"name": "colour", "points": 30, "description": "Low: grey; full: bright.", "kinds": ["salad"]},
        ],
    }
)


def test_a_written_rubric_is_read_as_it_was_and_is_not_approved(tmp_path: Path) -> None:
    file = tmp_path / "recipe.rubric.toml"

    write(RUBRIC, file)

    assert find_rubric("recipe", tmp_path) == RUBRIC.model_copy(update={"name": "recipe", "folder": tmp_path})
    assert file.read_text(encoding="utf-8").startswith("# A rubric for review.")
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "recipe.rubric.toml"
    file.write_text("precious")

    with pytest.raises(BadInput, match="exists already"):
        write(RUBRIC, file)

    assert file.read_text() == "precious"


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none is no folder"):
        write(RUBRIC, tmp_path / "none" / "recipe.rubric.toml")


def test_an_approval_takes_effect_at_once_and_keeps_comments_and_permissions(tmp_path: Path) -> None:
    file = tmp_path / "recipe.rubric.toml"
    write(RUBRIC, file)
    file.write_text(file.read_text() + "# mine\n")
    file.chmod(0o640)
    assert not find_rubric("recipe", tmp_path).approved

    approve(file, "Ada [L.]", RUBRIC.version)

    rubric = find_rubric("recipe", tmp_path)
    assert rubric.approved
    assert rubric.approval is not None
    assert rubric.approval.by == "Ada [L.]"
    assert rubric.criteria == RUBRIC.criteria
    assert "# A rubric for review." in file.read_text()
    assert "# mine" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_withdrawn_approval_leaves_the_file_as_it_was_before(tmp_path: Path) -> None:
    file = tmp_path / "recipe.rubric.toml"
    write(RUBRIC, file)
    before = find_rubric("recipe", tmp_path)
    approve(file, "Ada", RUBRIC.version)

    assert withdraw(file) == before
    assert "# A rubric for review." in file.read_text()
    assert approve(file, "Bea", RUBRIC.version).approved


def test_a_rubric_can_be_approved_again_after_an_edit(tmp_path: Path) -> None:
    file = tmp_path / "recipe.rubric.toml"
    write(RUBRIC, file)
    approve(file, "Ada", RUBRIC.version)
    file.write_text(file.read_text().replace("bland", "tasteless"))
    edited = read_rubric(file)
    assert not edited.approved

    approve(file, "Grace", edited.version)

    assert read_rubric(file).approved
    assert file.read_text().count("[approval]") == 1


def test_a_rubric_that_changed_while_it_was_read_is_not_approved(tmp_path: Path) -> None:
    file = tmp_path / "recipe.rubric.toml"
    write(RUBRIC, file)
    file.write_text(file.read_text().replace("bland", "tasteless"))
    before = file.read_text()

    with pytest.raises(BadInput, match=f"while {RUBRIC.version} was read"):
        approve(file, "Ada", RUBRIC.version)

    assert file.read_text() == before


@pytest.mark.parametrize("by", ["", " ", "a\nb"])
def test_nobody_cannot_approve(tmp_path: Path, by: str) -> None:
    file = tmp_path / "recipe.rubric.toml"
    write(RUBRIC, file)

    with pytest.raises(BadInput, match="Somebody must approve"):
        approve(file, by, RUBRIC.version)


def test_a_rubric_that_begins_with_a_byte_order_mark_is_approved_and_withdrawn(tmp_path: Path) -> None:
    file = tmp_path / "recipe.rubric.toml"
    write(RUBRIC, file)
    file.write_text(file.read_text(encoding="utf-8"), encoding="utf-8-sig")

    approve(file, "Ada", RUBRIC.version)
    assert find_rubric("recipe", tmp_path).approved
    file.write_text(file.read_text(encoding="utf-8"), encoding="utf-8-sig")
    withdraw(file)

    assert not find_rubric("recipe", tmp_path).approved
