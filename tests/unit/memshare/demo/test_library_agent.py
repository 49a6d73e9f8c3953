"""The agent of the demo is whole: its rubric is approved, and its check knows every right answer."""

from __future__ import annotations

from pathlib import Path

from memshare.cli.begin.demo_gain import write_agent
from memshare.demo.gain import AGENT, POOL
from memshare.demo.text_to_sql import LIBRARY, read_questions
from memshare_agents.roster import load_roster
from memshare_broker.wire.grades import PROGRAM
from memshare_scorer.checks.sql import Tables
from memshare_scorer.grading import PairToGrade, grade
from memshare_scorer.programs import require_checks
from memshare_scorer.rubric import find_rubric
from tests.support.scripted_chat import ScriptedChat


def test_a_program_says_which_queries_of_the_library_are_right(tmp_path: Path) -> None:
    folder, questions = tmp_path / "agents", read_questions()
    write_agent(questions, folder)
    agent = load_roster(folder)[AGENT]
    rubric = find_rubric(agent.rubric, folder)
    one = questions.of("test")[0]
    another = next(other for other in questions.of("test") if other.query.number != one.query.number)

    require_checks([rubric])

    assert (agent.pool, rubric.approved) == (POOL, True)
    assert AGENT == POOL, "people have one name to remember"
    for answer, points in ((one.sql, 100), (another.sql, 0), ("I do not know.", 0)):
        score = grade(ScriptedChat(), rubric, 81, PairToGrade(None, one.text, answer), votes=1)
        assert (score.total, score.model) == (points, PROGRAM)


def test_every_question_has_a_right_answer_with_rows() -> None:
    questions = read_questions()
    tables = Tables(questions.database or "")
    assert all(tables.rows(one.sql) is not None for one in questions.every)


def test_a_model_is_told_the_tables_and_the_customs_of_the_library(tmp_path: Path) -> None:
    write_agent(read_questions(), tmp_path / "told", schema=True)
    write_agent(read_questions(), tmp_path / "plain")

    told, plain = (load_roster(tmp_path / name)[AGENT].instructions for name in ("told", "plain"))

    assert told.startswith(plain)
    assert told.count("CREATE TABLE") == (LIBRARY / "library.sql").read_text("utf-8").count("CREATE TABLE") > 0
    assert "INSERT" not in told
    assert "Genres are in lower case." in told
