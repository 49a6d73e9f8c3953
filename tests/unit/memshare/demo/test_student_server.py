"""What the student of the demo says to the requests of the product."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from memshare.demo.student_server import AGREES, IGNORANCE, SqlExpert, completion, reply
from memshare.demo.text_to_sql import read_questions
from memshare_llm.chat import RefusedReply
from memshare_llm.completion import read_completion

LIBRARY = read_questions()
TASK = LIBRARY.of("test")[0]
HELPFUL = next(one for one in LIBRARY.of("train") if one.query == TASK.query)
OTHER = next(one for one in LIBRARY.of("train") if one.query != TASK.query and one.types == TASK.types)


@pytest.fixture(scope="module")
def expert() -> SqlExpert:
    return SqlExpert(LIBRARY)


def request(*turns: str, wanted: dict[str, Any] | None = None) -> dict[str, Any]:
    body: dict[str, Any] = {"messages": [{"content": turn} for turn in ("Write SQL.", *turns)]}
    return body | ({"response_format": {"json_schema": {"schema": {"properties": wanted}}}} if wanted else {})


def test_the_student_copies_the_last_memory_which_is_the_best(expert: SqlExpert) -> None:
    assert reply(expert, request(OTHER.text, OTHER.sql, HELPFUL.text, HELPFUL.sql, TASK.text)) == TASK.sql
    assert reply(expert, request(HELPFUL.text, HELPFUL.sql, OTHER.text, OTHER.sql, TASK.text)) != TASK.sql
    assert reply(expert, request(TASK.text)) == IGNORANCE


def test_a_memory_misleads_where_its_copy_is_wrong(expert: SqlExpert) -> None:
    texts = {
        "1": {"prompt": HELPFUL.text, "answer": HELPFUL.sql},
        "2": {"prompt": OTHER.text, "answer": OTHER.sql},
    }
    tasks = {"task_1": {"prompt": TASK.text, "answer": TASK.sql, "examples": [2, 1], "rivals": [1]}}
    asked = json.dumps({"texts": texts, "tasks": tasks})

    said = json.loads(reply(expert, request(asked, wanted=dict.fromkeys(("task_1", "rivals")))) or "")

    assert {number: percent > 50 for number, percent in said["task_1"].items()} == {"2": True, "1": False}
    assert said["rivals"] == [{"task": "task_1", "text": 1, **AGREES}]


def test_the_student_grades_nothing(expert: SqlExpert) -> None:
    body = request("{}", wanted={"accuracy": None}) | {"model": "student"}

    with pytest.raises(RefusedReply):
        read_completion("openai:student", json.dumps(completion(expert, body)))


def test_an_answer_is_a_completion(expert: SqlExpert) -> None:
    body = request(HELPFUL.text, HELPFUL.sql, TASK.text) | {"model": "student"}
    assert read_completion("openai:student", json.dumps(completion(expert, body))).text == TASK.sql


BESIDE = """
from memshare.demo.student_server import student_answers
with student_answers():
    try:
        print("There.", flush=True)
        input()
    except KeyboardInterrupt:
        print("Ended.")
"""


def test_ctrl_c_is_for_the_demo_alone_and_ends_the_student_without_a_word() -> None:
    words = [sys.executable, "-c", BESIDE]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "There.\n"

    os.killpg(process.pid, signal.SIGINT)  # as a terminal does

    assert process.communicate(timeout=60) == ("Ended.\n", "")
