from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator

from memshare_broker.errors import BadInput
from memshare_broker.toml_files import load


class Dish(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    grams: int = Field(ge=1)


class Menu(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str
    price: float | Literal["free"] = "free"
    dish: list[Dish] = []
    notes: dict[str, str] = {}

    @model_validator(mode="after")
    def _not_twice(self) -> Menu:
        if len({dish.name for dish in self.dish}) < len(self.dish):
            raise ValueError("a dish is named twice")
        return self


MENU = '''# The menu.
title = """
Today
price = "a line of the title, and no key"
"""
price = 3.5

[[dish]]
name = "soup"
grams = 300

[[dish]]
name = "bread"
grams = 80

[notes]
"of the day" = "warm"
'''


def refusal(tmp_path: Path, text: str) -> str:
    file = tmp_path / "menu.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        load(file, Menu)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(f"{tmp_path}/")


def test_a_file_that_fits_becomes_the_model(tmp_path: Path) -> None:
    (tmp_path / "menu.toml").write_text(MENU, encoding="utf-8")

    menu = load(tmp_path / "menu.toml", Menu)

    assert menu.price == 3.5
    assert [dish.grams for dish in menu.dish] == [300, 80]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "grams = 80",
            "grams = 0",
            "menu.toml:14: dish.1.grams: Input should be greater than or equal to 1, not 0.",
        ),
        ("grams = 80", "weight = 80", "menu.toml:12: 'dish.1.grams' is missing."),
        (
            "grams = 300",
            "grams = 300\nsalt = 1",
            "menu.toml:11: dish.0.salt: no such key is known here.",
        ),
        ("price = 3.5", "price = 'dear'", "menu.toml:6: price: Input should be a valid number, "),
        (
            '"of the day" = "warm"',
            '"of the day" = 1',
            "menu.toml:17: notes.of the day: Input should be a valid",
        ),
        ('"bread"', '"soup"', "menu.toml:1: a dish is named twice."),
        ("price = 3.5", "price 3.5", "menu.toml:6: this is not valid TOML: Expected '=' after a key"),
        ('"warm"\n', '"warm', "menu.toml:17: this is not valid TOML: Unterminated string."),
    ],
)
def test_a_fault_is_told_with_file_and_line(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in MENU

    message = refusal(tmp_path, MENU.replace(old, new))

    assert message.startswith(expected)


def test_the_line_is_right_in_tables_that_belong_to_the_last_entry_of_an_array(tmp_path: Path) -> None:
    class Step(BaseModel):
        minutes: int

    class Recipe(BaseModel):
        step: list[dict[str, Step]]

    file = tmp_path / "recipe.toml"
    file.write_text("[[step]]\n[step.boil]\nminutes = 3\n[[step]]\n[step.rest] # then\nminutes = 'long'\n")

    with pytest.raises(BadInput, match=r"recipe\.toml:6: step\.1\.rest\.minutes: "):
        load(file, Recipe)


def test_a_long_wrong_value_is_shown_shortened(tmp_path: Path) -> None:
    message = refusal(tmp_path, f"title = 1\nprice = '{'x' * 5000}'")

    assert message == "menu.toml:1: title: Input should be a valid string, not 1."
    assert len(refusal(tmp_path, f"title = 'a'\nprice = '{'x' * 5000}'")) < 300


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"title = 'a'\nprice = '\xff'")

    with pytest.raises(BadInput, match=r"none\.toml cannot be read: No such file"):
        load(tmp_path / "none.toml", Menu)
    with pytest.raises(BadInput, match=r"binary\.toml:2: this is not UTF-8 text"):
        load(tmp_path / "binary.toml", Menu)


def test_a_byte_order_mark_is_no_part_of_a_file_and_lines_are_counted_as_ever(tmp_path: Path) -> None:
    (tmp_path / "menu.toml").write_text(MENU, encoding="utf-8-sig")
    (tmp_path / "wrong.toml").write_text(MENU.replace("grams = 80", "grams = 0"), encoding="utf-8-sig")
    (tmp_path / "binary.toml").write_bytes(b"\xef\xbb\xbftitle = 'a'\nprice = '\xff'")

    assert load(tmp_path / "menu.toml", Menu).price == 3.5
    with pytest.raises(BadInput, match=r"wrong\.toml:14: dish\.1\.grams"):
        load(tmp_path / "wrong.toml", Menu)
    with pytest.raises(BadInput, match=r"binary\.toml:2: this is not UTF-8 text"):
        load(tmp_path / "binary.toml", Menu)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("pryce = 3", " Did you mean 'price'?"),
        ("MEMSHARE_TITLE = 'x'", " Did you mean 'title'?"),
        ("[memshare]\nprice = 3", " 'price' is a key of the file itself: write it without [memshare]."),
        ("colour = 3", ""),
    ],
)
def test_a_key_that_was_written_in_another_way_is_told_how(tmp_path: Path, line: str, meant: str) -> None:
    assert refusal(tmp_path, f"title = 'a'\nprice = 1\n{line}\n").endswith(f": no such key is known here.{meant}")
