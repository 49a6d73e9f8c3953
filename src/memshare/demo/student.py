"""A student that knows no SQL, and a grader that does: what is right comes from a memory, and a program says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memshare.demo.text_to_sql import Query, Question, Questions
from memshare_scorer.checks.sql import Tables

CUT = " […]"  # stands where a text was cut for a model


class Student:
    """Copies the SQL of an example, with the names in it exchanged for those of the question."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self._written: dict[str, tuple[Query, dict[str, str]]] = {}
        self._cut: dict[str, str] = {}
        for one in questions:
            self._write(one.query, dict(zip(one.slots, one.values, strict=True)))

    def answer(self, task: Question, examples: Sequence[tuple[Question, str]]) -> str | None:
        """A copy of the first example, best first, whose names fit the question; None where there is none."""
        copies = (self.copy(task, asked, answer) for asked, answer in examples)
        return next((copy for copy in copies if copy is not None), None)

    def copy(self, task: Question, asked: Question, answer: str) -> str | None:
        """The SQL that answers another question, for this one; None where number and types of the names differ."""
        if asked.types != task.types:
            return None
        known = self._written.get(self._cut.get(answer, answer))
        if known is None:
            return answer
        query, values = known
        return self._write(query, values | dict(zip(asked.slots, task.values, strict=True)))

    def read_cut(self, text: str) -> str:
        """The SQL that a text has the beginning of, and the end where that was left, too; else the text."""
        beginning, cut, end = text.partition(CUT)
        if not cut:
            return text
        if text not in self._cut:
            whole = (sql for sql in self._written if sql.startswith(beginning) and sql.endswith(end.removeprefix(" ")))
            self._cut[text] = next(whole, text)
        return self._cut[text]

    def _write(self, query: Query, values: dict[str, str]) -> str:
        sql = query.filled(values)
        self._written.setdefault(sql, (query, values))
        return sql


class Grader:
    """Says whether SQL answers a question: by its rows where there is a database, else by its text."""

    def __init__(self, questions: Questions) -> None:
        self._tables = Tables(questions.database) if questions.database is not None else None

    def right(self, task: Question, answer: str | None) -> bool:
        if answer is None or self._tables is None:
            return answer == task.sql
        rows = self._tables.rows(answer)
        return rows is not None and rows == self._tables.rows(task.sql)
