"""The questions that are bundled, and the format they come in."""

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memshare.demo.text_to_sql import LIBRARY, Questions, filled, read_questions


@pytest.fixture(scope="module")
def library() -> Questions:
    return read_questions()


@pytest.fixture
def database(library: Questions) -> Iterator[sqlite3.Connection]:
    assert library.database is not None
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(library.database)
        yield connection


def test_every_bundled_query_gives_a_row_for_its_values(library: Questions, database: sqlite3.Connection) -> None:
    empty = [one.text for one in library.every if not database.execute(one.sql).fetchone()]
    assert library.every
    assert empty == []


def test_a_query_with_the_names_of_another_question_gives_the_rows_of_that_question(
    library: Questions, database: sqlite3.Connection
) -> None:
    sources = {one.query.number: one for one in library.of("train")}
    differ = 0
    for one in library.of("test"):
        source = sources[one.query.number]
        copied = source.query.filled(dict(zip(source.slots, one.values, strict=True)))
        wanted = database.execute(one.sql).fetchall()
        assert source.types != one.types or database.execute(copied).fetchall() == wanted
        differ += database.execute(source.sql).fetchall() != wanted
    assert differ > len(library.of("test")) / 2


def test_bundled_queries_are_asked_in_many_ways_and_unseen_questions_in_ways_of_their_own() -> None:
    entries = json.loads((LIBRARY / "questions.json").read_text("utf-8"))
    assert len(entries) >= 40
    for entry in entries:
        ways = defaultdict(set)
        for one in entry["sentences"]:
            ways[one["question-split"]].add(one["text"])
        assert 6 <= len(set.union(*ways.values())) <= 10
        assert ways["test"]
        assert ways["test"].isdisjoint(ways["train"] | ways["dev"])


def test_every_name_of_a_bundled_query_stands_in_each_question(library: Questions) -> None:
    for one in library.every:
        assert set(one.slots) == set(one.query.types)
        assert not re.search(r"\b[a-z]+0\b", one.text + one.sql)


def test_a_file_is_read_without_excluded_sentences_and_with_examples_for_what_is_not_said(tmp_path: Path) -> None:
    file = tmp_path / "courses.json"
    file.write_text(
        json.dumps(
            [
                {
                    "sql": ['SELECT 1 FROM C WHERE D = "department0" AND N = number0', "SELECT 2"],
                    "variables": [
                        {"name": "department0", "type": "department", "example": "EECS", "location": "sql-only"},
                        {"name": "number0", "type": "number", "example": "595", "location": "both"},
                    ],
                    "sentences": [
                        _sentence("test", "Is number0 hard ?", {"department0": "", "number0": "550"}),
                        _sentence("exclude", "number0 ?", {"department0": "", "number0": "1"}),
                    ],
                }
            ]
        )
    )
    [one] = read_questions(file).every
    assert one.text == "Is 550 hard ?"
    assert (one.slots, one.types, one.values) == (("number0",), ("number",), ("550",))
    assert one.sql == 'SELECT 1 FROM C WHERE D = "EECS" AND N = 550'


def test_an_unseen_question_that_was_trained_on_in_the_same_words_is_none(tmp_path: Path) -> None:
    file = tmp_path / "twice.json"
    sentences = [_sentence(split, text, {}) for split, text in (("train", "A?"), ("test", "A?"), ("test", "B?"))]
    file.write_text(json.dumps([{"sql": ["SELECT 1"], "variables": [], "sentences": sentences}]))
    assert [one.text for one in read_questions(file).of("test")] == ["B?"]


def test_a_name_that_begins_another_one_leaves_it_whole() -> None:
    assert filled("number1 number10", {"number1": "7", "number10": "8"}) == "7 8"


def _sentence(split: str, text: str, variables: dict[str, str]) -> dict[str, object]:
    return {"question-split": split, "text": text, "variables": variables}


def test_of_ten_numbered_parts_the_last_two_are_dev_and_test(tmp_path: Path) -> None:
    sentences = [{"text": f"question {part}", "question-split": str(part), "variables": {}} for part in range(10)]
    (tmp_path / "small.json").write_text(json.dumps([{"sql": ["SELECT 1"], "variables": [], "sentences": sentences}]))

    found = read_questions(tmp_path / "small.json")

    assert [len(found.of(split)) for split in ("train", "dev", "test")] == [8, 1, 1]
