"""How workers log."""

import json
import logging
import os
import subprocess
import sys

import pytest

from memshare_broker.observe.logs import Json, Text, ids


def record(message: str, *args: object, **more: object) -> logging.LogRecord:
    made = logging.LogRecord("memshare_agents.tasks", logging.INFO, "tasks.py", 1, message, args, None)
    made.__dict__.update(more)
    return made


def failed() -> logging.LogRecord:
    try:
        raise ValueError("the key is sk-abcdefgh12345678")
    except ValueError:
        return record("It failed.", exc_info=sys.exc_info(), **ids(task_id="t1"))


def test_a_text_line_ends_in_its_ids() -> None:
    line = Text("%(levelname)s %(message)s", use_color=False).format(
        record("Answered with %d memories.", 3, **ids(task_id="t1", memory_id=None, agent="poem"))
    )

    assert line == "INFO Answered with 3 memories. task_id=t1 agent=poem"


def test_the_ids_of_a_text_line_stand_before_its_traceback() -> None:
    first, *rest = Text("%(message)s", use_color=False).format(failed()).splitlines()

    assert first == "It failed. task_id=t1"
    assert rest[-1] == "ValueError: the key is …"


def test_a_json_line_has_the_ids_as_fields() -> None:
    line = json.loads(Json().format(record("Answered with %d memories.", 3, created=1.5, **ids(task_id="t1"))))

    assert line.pop("time").startswith("1970-01-01T00:00:01.")
    assert line == {
        "level": "info", "logger": "memshare_agents.tasks", "message": "Answered with 3 memories.", "task_id": "t1",
    }  # fmt: skip


def test_an_exception_in_json_is_one_line_with_its_traceback_in_a_field() -> None:
    text = Json().format(failed())

    assert "\n" not in text
    assert json.loads(text)["traceback"].startswith("Traceback (most recent call last)")
    assert "sk-abc" not in text


def test_a_line_of_celery_about_a_task_has_its_id_and_none_of_its_arguments() -> None:
    about = {"id": "t1", "name": "agents.poem", "args": "('a whole prompt',)"}
    line = json.loads(Json().format(record("Task %(name)s[%(id)s] received", about, data=about)))

    assert (line["task_id"], line["task"]) == ("t1", "agents.poem")
    assert "a whole prompt" not in json.dumps(line)


@pytest.mark.parametrize("form", [Text("%(message)s", use_color=False), Json()])
def test_a_key_in_a_message_is_not_logged(form: logging.Formatter) -> None:
    assert "sk-abcdefgh" not in form.format(record("refused: bad key %s", "sk-abcdefgh12345678"))


@pytest.mark.parametrize("form", [Text("%(message)s", use_color=False), Json()])
def test_a_key_among_the_ids_is_not_logged(form: logging.Formatter) -> None:
    line = form.format(record("Answered.", **ids(task_id="t1", submitter="sk-abcdefgh12345678")))

    assert "sk-abcdefgh" not in line
    assert "t1" in line


@pytest.mark.parametrize("form", [Text("%(levelname)s %(message)s", use_color=False), Json()])
@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x1b[2J", "\x85", "\u2028", "\u202e"])
def test_an_id_or_a_text_from_outside_forges_no_line_and_moves_no_cursor(form: logging.Formatter, end: str) -> None:
    forged = f"t1{end}ERROR The pool is gone."

    line = form.format(record("Refused: %s", forged, **ids(task_id=forged)))

    assert len(line.splitlines()) == 1
    if isinstance(form, Text):
        assert end[0] not in line
        assert line.count("ERROR The pool is gone.") == 2, "what it said is there to be read"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_json_lines_are_exact_on_an_output_that_lacks_a_character(encoding: str) -> None:
    program = (
        "import logging; from memshare_broker.observe.logs import set_up; set_up('json'); logging.info('café → 🍸')"
    )
    environment = os.environ | {"PYTHONIOENCODING": encoding}

    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)

    assert json.loads(done.stderr.decode(encoding))["message"] == "café → 🍸"
