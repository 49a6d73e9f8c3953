"""Which texts are one text: what is typed in another way, and what nobody sees, makes no difference."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memshare_broker.wire.same_text import is_blank, letters, normal

ASKED = "Where is Nîmes à café?"
texts = st.text(max_size=60)
UNSEEN = "\u00ad\u200b\u2060\ufeff"
unseen = st.text(UNSEEN, max_size=4)
at_ends = st.text(UNSEEN + "\u200c\u200d\u200e\u200f\u202a\u202e\u2066\u2069\u061c", max_size=4)


@pytest.mark.parametrize(
    "form",
    [
        unicodedata.normalize("NFD", ASKED),
        ASKED.replace(" ", "\u00a0"),
        ASKED.replace(" ", "\u202f"),
        ASKED + "\u200b",
        "\ufeff" + ASKED,
        ASKED.replace("Nîmes", "Nî\u00admes"),
        ASKED.replace("Nîmes", "Nî\u2060mes"),
        ASKED + "\u200e",
        "\u200f" + ASKED + " \u2069"[1:],
    ],
)
def test_one_text_in_several_forms_has_one_normal_form(form: str) -> None:
    assert form != ASKED
    assert normal(form) == ASKED


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ASKED, ASKED.replace("?", "\uff1f")),
        ("Nîmes", "Nimes"),
        ("a b", "a  b"),
        ("A", "a"),
        ("می\u200cخواهم", "میخواهم"),
        ("👩\u200d💻", "👩💻"),
        ("क्\u200dष", "क्ष"),
        ("❤\ufe0f", "❤"),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "🏴"),
        ("\u06dd", ""),
        ("a\u202eb", "ab"),
    ],
)
def test_what_shows_or_means_something_else_stays_apart(one: str, other: str) -> None:
    assert normal(one) != normal(other)
    assert normal(one) == one


@given(texts, unseen, at_ends, at_ends, st.integers(0, 60))
@example("e\u0301", "\u200b", "", "", 1)
@example(" \u200e\n", "", "", "\u200f", 0)
def test_neither_the_spelling_nor_what_nobody_sees_changes_the_normal_form(
    text: str, inside: str, before: str, behind: str, place: int
) -> None:
    same = normal(text)

    assert normal(same) == same
    assert normal(unicodedata.normalize("NFD", text)) == same
    assert normal(unicodedata.normalize("NFC", text)) == same
    assert normal(text[:place] + inside + text[place:]) == same
    assert normal(before + text + behind) == same
    assert normal(text.replace(" ", "\u00a0")) == same


@given(st.text(st.characters(codec="ascii"), max_size=60))
def test_ascii_is_its_own_normal_form(text: str) -> None:
    assert normal(text) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What has keys?", "what  has\tKEYS"),
        ("What has keys?", "Ｗｈａｔ has keys？"),
        ("What has keys?", "What has ke\u115fys"),
        ("What has keys?", "What-has_keys!!"),
        ("Straße?", "STRASSE"),
        ("ﬁsh", "fish"),
        ("\u0440\u0430ge", "page"),  # Cyrillic er and a
        ("\u0391lph\u03b1", "Alpha"),  # Greek
    ],
)
def test_look_alikes_have_the_same_letters(one: str, other: str) -> None:
    assert letters(one) == letters(other) != ""


@pytest.mark.parametrize(("one", "other"), [("17 + 25", "17 + 26"), ("Nîmes", "Nimes"), ("lamp", "lamps")])
def test_other_letters_and_digits_are_no_look_alikes(one: str, other: str) -> None:
    assert letters(one) != letters(other)


NOTHING = [
    "",
    " \n",
    "\u200b",
    "\u00a0",
    "\ufeff \u2060",
    "\x00\x1b",
    "\u3164",
    "\u2800",
    "\ufe0f",
    "\u200e\u200f",
    "\u034f",
]


@pytest.mark.parametrize("text", NOTHING)
def test_a_text_that_shows_nothing_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["a", "\u200ba", "0", "?", "🦊", "❤\ufe0f", "é", "क", "\u0301"])
def test_a_text_that_shows_something_is_not_blank(text: str) -> None:
    assert not is_blank(text)
