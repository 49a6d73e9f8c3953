"""The student and the grader of `benchmarks.sql`, and who brings in what."""

from collections import Counter

import pytest

from benchmarks.sql.world import PEOPLE, world
from memshare.demo.student_server import CUT, Grader, Student
from memshare.demo.text_to_sql import Questions, SqlQuery, SqlQuestion, read_questions

COURSES = SqlQuery(
    0, 'SELECT t FROM c WHERE d = "department0" AND n = number0', {"department0": "department", "number0": "number"}, {}
)
TEACHERS = SqlQuery(1, "SELECT p FROM c WHERE n = number0", {"number0": "number"}, {})


def asked(query: SqlQuery, *values: str, slots: tuple[str, ...] = ()) -> SqlQuestion:
    names = slots or tuple(query.types)
    return SqlQuestion("train", f"{query.number}: {' '.join(values)}?", query, names, values)


TASK = asked(COURSES, "EECS", "280")
FITTING = asked(COURSES, "MATH", "115")
OTHER_TYPES = asked(TEACHERS, "115")
EVERY = [TASK, FITTING, OTHER_TYPES]


def test_the_first_example_whose_names_fit_is_copied_with_the_names_of_the_question() -> None:
    examples = [(OTHER_TYPES, OTHER_TYPES.sql), (FITTING, FITTING.sql)]
    assert Student(EVERY).answer(TASK, examples) == 'SELECT t FROM c WHERE d = "EECS" AND n = 280'


def test_without_an_example_that_fits_there_is_no_answer() -> None:
    assert Student(EVERY).answer(TASK, [(OTHER_TYPES, OTHER_TYPES.sql)]) is None


def test_names_are_exchanged_by_their_places_in_the_question() -> None:
    turned = asked(COURSES, "280", "EECS", slots=("number0", "department0"))
    student = Student([*EVERY, turned])
    assert student.copy(turned, FITTING, FITTING.sql) is None
    assert student.copy(turned, asked(COURSES, "1", "A", slots=("number0", "department0")), FITTING.sql) == turned.sql


def test_a_copy_of_a_copy_is_as_good_as_the_first() -> None:
    student = Student([FITTING, TASK])
    copy = student.copy(TASK, FITTING, FITTING.sql)
    assert copy is not None
    assert student.copy(FITTING, TASK, copy) == FITTING.sql


def test_an_answer_of_another_query_is_copied_and_wrong() -> None:
    student = Student(EVERY)
    copy = student.copy(TASK, FITTING, OTHER_TYPES.sql)
    assert copy == "SELECT p FROM c WHERE n = 280"
    assert not Grader(Questions("none", tuple(EVERY), None)).right(TASK, copy)


def test_an_answer_that_was_cut_off_is_known_by_its_beginning() -> None:
    student = Student(EVERY)
    assert student.read_cut(FITTING.sql[:40] + CUT) == FITTING.sql
    assert student.read_cut(f"{FITTING.sql[:20]}{CUT} {FITTING.sql[-10:]}") == FITTING.sql
    assert student.read_cut(f"{FITTING.sql[:20]}{CUT} another end") != FITTING.sql
    assert student.read_cut("SELECT nothing" + CUT) == "SELECT nothing" + CUT


def test_without_a_database_an_answer_is_right_by_its_text() -> None:
    grader = Grader(Questions("none", tuple(EVERY), None))
    assert grader.right(TASK, TASK.sql)
    assert not grader.right(TASK, FITTING.sql)
    assert not grader.right(TASK, None)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("SELECT title FROM books WHERE id IN (2) OR id = 1 ORDER BY id", True),
        ("SELECT title FROM books WHERE id = 1", False),
        ("SELECT nothing", False),
        ("I do not know.", False),
    ],
)
def test_with_a_database_an_answer_is_right_by_its_rows(answer: str, right: bool) -> None:
    query = SqlQuery(0, "SELECT title FROM books WHERE id < number0 ORDER BY id", {"number0": "number"}, {})
    database = "CREATE TABLE books (id, title); INSERT INTO books VALUES (1, 'A'), (2, 'B'), (3, 'C');"
    task = asked(query, "3")
    assert Grader(Questions("books", (task,), database)).right(task, answer) is right


def test_another_order_has_the_same_questions_in_other_places() -> None:
    questions = read_questions()
    one, other = world(questions, 1), world(questions, 2)
    assert one.unseen == other.unseen
    assert {each.text for each in one.trained} == {each.text for each in other.trained}
    assert [each.text for each in one.memories] != [each.text for each in other.memories]
    assert not {each.text for each in one.trained} & {each.text for each in questions.of("dev")}


def test_what_is_spoiled_is_a_quarter_and_of_one_submitter_alone() -> None:
    of = world(read_questions(), 1)
    pairs, people, bad = of.spoiled()
    assert Counter(bad)[True] == len(of.memories) // 4
    assert [person == PEOPLE[-1] for person in people] == bad
    assert [answer != one.sql for one, (_, answer) in zip(of.memories, pairs, strict=True)] == bad


def test_every_memory_makes_more_possible() -> None:
    of = world(read_questions(), 1)
    assert of.possible([]) == 0
    assert 0 < of.possible(of.memories[:20]) < of.possible(of.memories) <= 1
