"""Tasks of a file: each is submitted once, however often the command is run, and its result is written once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis
import typer

from memshare.cli.ask import submit_file as bulk
from memshare.cli.ask.submit_file import (
    GO_ON,
    TaskLine,
    answers,
    asking,
    read_tasks,
    results_file,
    submit_all,
    submit_file,
)
from memshare.client.client import BULK, Client
from memshare.terminal import console
from memshare_broker.errors import BadInput, Unreachable
from memshare_broker.settings import OFFLINE, Settings
from tests.support.deployment import wait_for

TASKS = [{"agent": "poem", "prompt": f"A limerick about lamp {number}", "kind": "limerick"} for number in range(6)]


@pytest.fixture
def client(settings: Settings, redis_client: redis.Redis) -> Iterator[Client]:
    """A client of an empty Redis without workers."""
    assert redis_client.dbsize() == 0
    with closing(Client(settings)) as client:
        yield client


def written(folder: Path, *lines: object) -> Path:
    file = folder / "tasks.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n")
    return file


def read(client: Client, file: Path, run: str = "run", **defaults: Any) -> list[TaskLine]:
    lines, faults = read_tasks(client, file, defaults, run)
    assert faults == []
    return lines


def tell(redis_client: redis.Redis, task_id: str, result: dict[str, Any], status: str = "SUCCESS") -> None:
    meta = {"task_id": task_id, "status": status, "result": result, "traceback": None, "children": []}
    redis_client.set(f"celery-task-meta-{task_id}", json.dumps(meta))


def answer(redis_client: redis.Redis, line: TaskLine) -> None:
    tell(redis_client, line.task_id, {"task_id": line.task_id, "answer": f"Of line {line.number}: ü"})


def test_a_line_has_the_same_id_in_every_run_also_when_others_are_put_before_it(client: Client, tmp_path: Path) -> None:
    before = read(client, written(tmp_path, *TASKS[:3]))

    after = read(client, written(tmp_path, TASKS[5], *TASKS[:3]))

    assert [line.task_id for line in after[1:]] == [line.task_id for line in before]
    assert [line.number for line in after] == [1, 2, 3, 4]


def test_other_words_another_agent_and_another_run_are_other_tasks(client: Client, tmp_path: Path) -> None:
    one = {"prompt": "A plan to learn chess"}
    file = written(tmp_path, one, one, {**one, "memories": 0}, {**one, "agent": "logic"})

    ids = {line.task_id for run in ("run", "another") for line in read(client, file, run, agent="plan")}

    assert len(ids) == 8


def test_tasks_that_were_submitted_before_are_not_submitted_again(client: Client, tmp_path: Path) -> None:
    file = written(tmp_path, *TASKS)
    list(submit_all(client, read(client, file)[:4], BULK))
    assert client.ledger.open_messages() == {"poem": 4}

    list(submit_all(client, read(client, file), BULK))
    list(submit_all(client, read(client, file), BULK))

    assert client.ledger.open_messages() == {"poem": 6}


def test_results_come_when_they_are_there_and_not_in_the_order_of_the_lines(
    client: Client, redis_client: redis.Redis, tmp_path: Path
) -> None:
    lines = read(client, written(tmp_path, *TASKS[:3]))
    results = answers(client, lines, BULK, patience=20)

    found = []
    for line in reversed(lines):
        threading.Timer(0.1, answer, [redis_client, line]).start()
        found.append(next(results))

    assert [one["line"] for one in found] == [3, 2, 1]
    assert next(results, None) is None


def test_a_log_says_at_once_what_is_waited_for_and_how_far_it_is_before_any_answer(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "SAY_EVERY", 0.2)
    monkeypatch.setattr(bulk, "QUIET", 0.1)
    said = {"priority": BULK, "skip_bad": False, "as_json": False, "out": None, "run": "run"}

    with pytest.raises(typer.Exit):
        submit_file(client, written(tmp_path, *TASKS[:2]), {}, patience=2.0, **said)

    first, *later = capsys.readouterr().err.splitlines()
    assert first.startswith("Asking poem (")
    assert first.endswith(", for the next of their answers")
    assert any(line.startswith("No worker serves memory, poem, ") for line in later)
    far = [line.partition(" …")[0] for line in later if "…" in line]
    assert {*far} == {"Submitted 2 of 2; Answered 0 of 2"}
    assert 2 <= len(far) <= 4


@pytest.mark.parametrize(
    ("model", "waits", "said"),
    [
        (OFFLINE, 420, "Asking poem (offline)"),
        ("openai:qwen", 420, "Asking poem (openai:qwen), up to 8 s a call, 5 tries, 420 s in all"),
        ("openai:qwen", 3, "Asking poem (openai:qwen), up to 3 s"),
    ],
)
def test_who_waits_for_a_model_is_told_how_long_a_call_may_take_and_for_how_long_all_is_waited_for(
    settings: Settings, redis_client: redis.Redis, model: str, waits: float, said: str
) -> None:
    assert redis_client.dbsize() == 0
    asked = {"model": model, "model_timeout": 8, "tries": 5}
    with closing(Client(settings.model_copy(update=asked))) as client:
        assert asking(client, ["poem"], waits) == said


def test_what_was_given_up_is_not_called_answered(
    client: Client, redis_client: redis.Redis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(console, "SAY_EVERY", 0.2)
    file = written(tmp_path, *TASKS[:3])
    one, two, _ = read(client, file)
    error = {"exc_type": "GiveUp", "exc_module": "memshare_broker.errors", "exc_message": ["It refuses."]}
    tell(redis_client, one.task_id, error, "FAILURE")
    answer(redis_client, two)

    with pytest.raises(typer.Exit):
        submit_file(client, file, {}, run="run", out=None, patience=2.0, priority=BULK, skip_bad=False, as_json=False)

    far = [line.partition(" …")[0] for line in capsys.readouterr().err.splitlines() if "…" in line]
    assert far[-1] == "Submitted 3 of 3; Given up 1, answered 1 of 3"


def test_what_has_no_answer_after_the_patience_is_left_open(
    client: Client, redis_client: redis.Redis, tmp_path: Path
) -> None:
    lines = read(client, written(tmp_path, *TASKS[:3]))
    answer(redis_client, lines[1])

    assert [one["line"] for one in answers(client, lines, BULK, patience=0.3)] == [2]
    assert client.ledger.open_messages() == {"poem": 3}


def test_results_come_while_a_full_queue_still_takes_no_more(
    settings: Settings, redis_client: redis.Redis, tmp_path: Path
) -> None:
    narrow = settings.model_copy(update={"queue_limit": 2})
    with closing(Client(narrow)) as client:
        lines = read(client, written(tmp_path, *TASKS[:4]))
        answer(redis_client, lines[0])

        found = [one["line"] for one in answers(client, lines, BULK, patience=0.5)]

    assert found == [1]
    assert client.ledger.open_messages() == {"poem": 2}


def test_a_task_that_was_given_up_is_an_error_of_its_line(
    client: Client, redis_client: redis.Redis, tmp_path: Path
) -> None:
    [line] = read(client, written(tmp_path, TASKS[0]))
    error = {"exc_type": "GiveUp", "exc_module": "memshare_broker.errors", "exc_message": ["It refuses."]}
    tell(redis_client, line.task_id, error, "FAILURE")

    assert list(answers(client, [line], BULK, patience=5)) == [
        {"line": 1, "id": line.task_id, "task_id": line.task_id, "error": "It refuses."}
    ]


def test_the_id_of_another_task_is_refused_and_its_answer_is_not_returned(client: Client) -> None:
    client.submit_task("poem", {"prompt": "A lamp"}, task_id="lamp-1")
    client.submit_task("poem", {"prompt": "A lamp"}, task_id="lamp-1")

    with pytest.raises(BadInput, match="Another task has the id 'lamp-1'"):
        client.submit_task("poem", {"prompt": "A gun"}, task_id="lamp-1")


def test_wrong_lines_are_named_with_what_is_wrong(client: Client, tmp_path: Path) -> None:
    file = written(
        tmp_path,
        TASKS[0],
        "{not json",
        '{"prompt": "x"}',
        {"agent": "poem", "prompt": "x", "kind": "haiku"},
        '{"agent": "poem", "prompt": "half \\ud83d"}',
        "[" * 100_000,
        '{"agent": "poem", "prompt": "x", "memories": ' + "9" * 5_000 + "}",
        "[1]",
        {"agent": "poem", "prompt": "\x1b[2J", "colour": "red"},
    )

    lines, faults = read_tasks(client, file, {}, "run")

    assert [line.number for line in lines] == [1]
    assert [fault.removeprefix(f"{file}:").split(":")[0] for fault in faults] == [str(n) for n in range(2, 10)]
    for fault, expected in zip(faults, WRONG, strict=True):
        assert expected in fault


WRONG = (
    "no JSON",
    "no agent",
    "has no kind 'haiku'",
    "half a character, \\ud83d",
    "too deep",
    "digits",
    "JSON object, found list",
    "'colour' is none of its fields",
)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"prompt": "café"}\n{"prompt": "café"}'.encode("latin-1"), r"tasks\.jsonl:1: byte 16 of the line, 0xe9"),
        (b'{"prompt": "a"}\n{"prompt": "caf\xe9"}', r"tasks\.jsonl:2: byte 16 of the line, 0xe9, is not UTF-8"),
        ('{"prompt": "a"}'.encode("utf-16"), r"tasks\.jsonl is UTF-16 text; expected UTF-8"),
        ('{"prompt": "a"}'.encode("utf-32"), r"tasks\.jsonl is UTF-32 text; expected UTF-8"),
    ],
)  # fmt: skip
def test_a_file_in_another_encoding_is_refused_with_its_line(
    client: Client, tmp_path: Path, raw: bytes, expected: str
) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_bytes(raw)

    with pytest.raises(BadInput, match=expected):
        read_tasks(client, file, {"agent": "poem"}, "run")


def test_a_file_without_tasks_is_refused(client: Client, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"tasks\.jsonl is empty"):
        read_tasks(client, written(tmp_path), {"agent": "poem"}, "run")


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("prompt\nWhat runs, and walks?\n\"A poem,\nin two lines\"\n", [(2, {}), (3, {})]),
        ("\ufeffQuestion;Memories;kind\r\nWhat runs, and walks?;0;limerick\r\n;;\r\n\"A poem,\nin two lines\"\r\n",
         [(2, {"memories": 0, "kind": "limerick"}), (4, {})]),
    ],
)  # fmt: skip
def test_a_table_is_one_by_its_name_and_each_row_is_a_task(
    client: Client, tmp_path: Path, table: str, expected: list[tuple[int, dict[str, object]]]
) -> None:
    file = tmp_path / "tasks.CSV"
    file.write_bytes(table.encode())

    lines = read(client, file, agent="poem")

    assert [line.body["prompt"] for line in lines] == ["What runs, and walks?", "A poem,\nin two lines"]
    tasks = [client.check("poem", line.body) for line in lines]
    assert [line.number for line in lines] == [number for number, _ in expected]
    for task, (_, fields) in zip(tasks, expected, strict=True):
        assert {name: getattr(task, name) for name in fields} == fields


def test_a_file_without_json_that_is_no_table_by_its_name_is_refused_once(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "tasks.txt"
    file.write_text("prompt\nWhat runs?\nWhat sings?\n")

    with pytest.raises(BadInput, match=r"tasks\.txt has no JSON: expected .*\{\"agent\": .* a table, called NAME\.csv"):
        read_tasks(client, file, {"agent": "poem"}, "run")


def test_a_byte_order_mark_and_the_line_ends_of_other_systems_are_taken(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_bytes("\ufeff".encode() + b'{"prompt": "A plan"}\r\n\r\n{"prompt": "Another plan"}\r\n')

    assert [line.body["prompt"] for line in read(client, file, agent="plan")] == ["A plan", "Another plan"]


def test_a_result_that_was_cut_in_the_middle_is_written_anew_and_the_others_stay(tmp_path: Path) -> None:
    out, ids = tmp_path / "out.jsonl", {"a", "b"}
    with results_file(out, ids) as results:
        results.write({"line": 1, "task_id": "a", "answer": "ü"})
    whole = out.read_bytes()
    for torn in (b"{", b'{"line": 2, "task_id": "b", "answer": "\xc3'):
        out.write_bytes(whole + torn)
        with results_file(out, ids) as results:
            assert results.answered == {"a"}
            results.write({"line": 2, "task_id": "b", "answer": "ö"})

        assert [json.loads(line)["answer"] for line in out.read_text().splitlines()] == ["ü", "ö"]


def test_an_error_is_written_once_and_an_answer_after_it(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    for result in ({"error": "It refuses."}, {"error": "It refuses."}, {"answer": "It shines."}):
        with results_file(out, {"a"}) as results:
            results.write({"line": 1, "task_id": "a", **result})

    assert [sorted(json.loads(line)) for line in out.read_text().splitlines()] == [
        ["error", "line", "task_id"],
        ["answer", "line", "task_id"],
    ]


@pytest.mark.parametrize(
    "other", ["My notes", "My notes\n", '{"line": 1, "task_id": "z"}\n', '{"task_id": "a"}\n', "caf\udce9\n", "\n"]
)
def test_a_file_that_holds_anything_else_stays_as_it_is(tmp_path: Path, other: str) -> None:
    out = tmp_path / "out.jsonl"
    out.write_bytes(other.encode(errors="surrogateescape"))

    with pytest.raises(BadInput, match=r"out\.jsonl:1: "), results_file(out, {"a"}):
        pass

    assert out.read_bytes() == other.encode(errors="surrogateescape")


def test_two_commands_do_not_write_to_one_file(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"

    with (
        results_file(out, {"a"}),
        pytest.raises(BadInput, match="Another command writes to "),
        results_file(out, {"a"}),
    ):
        pass
    with results_file(out, {"a"}) as results:
        assert results.answered == set()


def test_submitting_with_a_full_queue_waits_for_room(
    settings: Settings, redis_client: redis.Redis, tmp_path: Path
) -> None:
    narrow = settings.model_copy(update={"queue_limit": 2})
    with closing(Client(narrow)) as client:
        lines = read(client, written(tmp_path, *TASKS[:3]))
        told: list[TaskLine] = []
        thread = threading.Thread(target=lambda: told.extend(submit_all(client, lines, BULK)))
        thread.start()
        wait_for(lambda: len(client.ledger.open_messages()) and client.ledger.open_messages()["poem"] == 2, 20, "two")
        redis_client.delete("memshare:open:poem")
        thread.join(20)

    assert told == lines


def test_where_redis_is_away_it_is_said_how_to_go_on(tmp_path: Path) -> None:
    nowhere = Settings(data=tmp_path, redis_url=f"unix://{tmp_path}/nobody.sock")

    with closing(Client(nowhere)) as client, pytest.raises(Unreachable, match=GO_ON):
        submit_file(
            client, written(tmp_path, *TASKS), {}, run="run", out=None, patience=None, priority=BULK, skip_bad=False,
            as_json=False,
        )  # fmt: skip
