from __future__ import annotations

import pytest

from memshare_memory.recall.recall import masked


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Which books by Kenji Tachiyama are lent?", "Which books by <mask> are lent?"),
        ("Was it Ada? Where is Bob?", "Was it <mask>? Where is <mask>?"),
        ("To take CEE 621 and 611, what do I need?", "To take <mask> and <mask>, what do I need?"),
        ("Count “e” in 'Mississippi'.", "Count <mask> in <mask>."),
        ("Add 3.5 to 1,000.", "Add <mask> to <mask>."),
        ("What I've read at 12:30.", "What I've read at <mask>."),
        ("don't mask it's mine", "don't mask it's mine"),
        ("SELECT ALL THINGS", "SELECT ALL THINGS"),
        ("How many books has Irene Norwood?", "How many books has <mask>?"),
        ("Irene Norwood has how many?", "Irene <mask> has how many?"),
        ('What is "The Amber Archive" about in 1984?', "What is <mask> about in <mask>?"),
        ("Which is long? Name it.", "Which is long? Name it."),
        ("Between 3.5 and 2024-01-02", "Between <mask> and <mask>"),
        ("Paris", "Paris"),
        ("join t1 on table2", "join t1 on table2"),
        ("写一首关于2020年的诗", "写一首关于<mask>年的诗"),
        ("", ""),
    ],
)
def test_quoted_strings_names_and_numbers_are_hidden(text: str, expected: str) -> None:
    assert masked(text) == expected


def test_a_long_text_is_not_masked() -> None:
    text = "Names are " + "Ada Lovelace " * 200
    assert masked(text) == text
