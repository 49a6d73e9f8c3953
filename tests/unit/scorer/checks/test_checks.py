"""The checks that come with memshare."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memshare_scorer.checks.documents import fits_schema
from memshare_scorer.checks.sql import MOST_STEPS, Tables, same_rows
from memshare_scorer.checks.texts import contains, matches

BOOKS = "CREATE TABLE books (id, title); INSERT INTO books VALUES (1, 'A'), (2, 'B'), (3, 'C');"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def test_an_answer_earns_the_share_of_the_texts_that_it_contains() -> None:
    assert contains("", "The Tide is high.", texts=["tide", "HIGH", "moon", "sun"]) == 0.5
    assert contains("", "The tide.", texts=["tide"]) == 1
    assert contains("", "N\u00ee\u00admes.", texts=["Ni\u0302mes"]) == 1, "in whatever spelling"


@pytest.mark.parametrize(("answer", "fits"), [(" 2026-11-23\n", True), ("On 2026-11-23", False), ("", False)])
def test_an_answer_fits_a_pattern_whole(answer: str, fits: bool) -> None:
    assert matches("", answer, pattern=r"\d{4}-\d\d-\d\d") is fits


@pytest.mark.parametrize(
    ("answer", "fits"), [('{"age": 3}', True), ('{"age": "3"}', False), ("{}", False), ("three", False), ("", False)]
)
def test_an_answer_fits_a_schema(tmp_path: Path, answer: str, fits: bool) -> None:
    file = tmp_path / "schema.json"
    file.write_text('{"type": "object", "required": ["age"], "properties": {"age": {"type": "integer"}}}')
    assert fits_schema("", answer, schema=str(file)) is fits


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    lines = [
        {"prompt": "Which books?", "answer": "SELECT title FROM books ORDER BY id"},
        {"prompt": "Broken?", "answer": "SELECT nothing"},
    ]
    (tmp_path / "books.sql").write_text(BOOKS)
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {"database": str(tmp_path / "books.sql"), "answers": str(tmp_path / "answers.jsonl")}


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("SELECT title FROM books WHERE id IN (3) OR id < 3 ORDER BY id;", True),
        ("```sql\nSELECT title FROM books ORDER BY id\n```", True),
        ("SELECT title FROM books ORDER BY id DESC", False),
        ("SELECT title FROM books WHERE id = 1", False),
        ("SELECT nothing", False),
        ("I do not know.", False),
        ("", False),
        ("SELECT title FROM books ORDER BY id; SELECT 1", False),
        ("DELETE FROM books", False),
    ],
)
def test_a_query_is_right_by_its_rows(files: dict[str, str], answer: str, right: bool) -> None:
    assert same_rows("Which books?", answer, **files) is right


def test_what_nobody_can_say_is_no_zero(files: dict[str, str]) -> None:
    assert same_rows("Which trains?", "SELECT 1", **files) is None
    with pytest.raises(ValueError, match=r"answers\.jsonl"):
        same_rows("Broken?", "SELECT 1", **files)


def test_a_query_changes_nothing_and_reaches_no_file(tmp_path: Path) -> None:
    tables = Tables(BOOKS)
    for sql in (
        "DELETE FROM books",
        "DROP TABLE books",
        f"ATTACH '{tmp_path}/other' AS other",
        "PRAGMA writable_schema=1",
    ):
        assert tables.rows(sql) is None
    assert tables.rows("SELECT count(*) FROM books") == [(3,)]
    assert list(tmp_path.iterdir()) == []


def test_a_query_without_end_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memshare_scorer.checks.sql.MOST_STEPS", MOST_STEPS // 100)
    assert Tables(BOOKS).rows(ENDLESS) is None
