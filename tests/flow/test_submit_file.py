"""`memshare submit` on real workers: files of tasks that are broken off and gone on with, and texts that are none."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memshare.client.client import Client
from memshare_broker.delivery.submission import Submission
from memshare_broker.settings import Settings
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.deployment import ROOT, Deployment, deployed, empty, patient, wait_for
from tests.support.terminal import Terminal

TASKS = 12


class Gate:
    """Holds prompts until some of them, or all, are let through."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._places = 0.0

    def let(self, most: float) -> None:
        with self._changed:
            self._places += most
            self._changed.notify_all()

    def script(self, body: dict[str, Any]) -> Answer:
        if "held" in body["messages"][-1]["content"]:
            with self._changed:
                self._changed.wait_for(lambda: self._places >= 1)
                self._places -= 1
        return Answer()


@pytest.fixture(scope="module")
def deployed_once(redis_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    settings = Settings(data=redis_folder, model="openai:scripted")
    empty(redis_folder)
    with (
        serving() as chat,
        deployed(settings, chat, tmp_path_factory.mktemp("logs"), [("poem", "memory")]) as running,
    ):
        yield running


@pytest.fixture
def gate(deployed_once: Deployment) -> Iterator[Gate]:
    """The test's own; whatever it still holds is let through at the end."""
    gate = Gate()
    deployed_once.chat.script = gate.script
    yield gate
    gate.let(math.inf)


@pytest.fixture
def deployment(deployed_once: Deployment, gate: Gate) -> Iterator[Deployment]:
    """Workers that have nothing to do, before a test and after it, whether it passed or failed."""
    yield deployed_once
    gate.let(math.inf)
    ledger = deployed_once.client.ledger
    wait_for(lambda: not ledger.open_messages()["poem"], 60, "every task of the test to be answered")


@pytest.fixture
def terminal(deployment: Deployment) -> Terminal:
    return Terminal(deployment.settings.data)


@contextmanager
def started(terminal: Terminal, *words: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "memshare", *words],
        cwd=ROOT, env=terminal.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            process.kill()


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_a_file_that_is_broken_off_loses_nothing_and_is_paid_for_once(
    deployment: Deployment, terminal: Terminal, gate: Gate, tmp_path: Path, sent: signal.Signals
) -> None:
    prompts = [f"held until let, number {number} of {sent.name}" for number in range(TASKS)]
    file, out = tmp_path / "tasks.jsonl", tmp_path / "results.jsonl"
    file.write_text("".join(json.dumps({"prompt": prompt}) + "\n" for prompt in prompts))
    command = ["submit", "poem", "--file", str(file), "--wait", "--out", str(out)]

    with started(terminal, *command) as first:
        gate.let(5)
        wait_for(lambda: len(lines_of(out)) == 5, 60, "five results")
        first.send_signal(sent)
        first.communicate(timeout=patient(60))
    assert first.returncode == (130 if sent == signal.SIGINT else -sent)
    before = out.read_text()
    gate.let(TASKS - 5)
    done = terminal.run(*command)
    again = terminal.run(*command)

    assert out.read_text().startswith(before)
    assert sorted(result["line"] for result in lines_of(out)) == list(range(1, TASKS + 1))
    assert all(result["answer"] and result["task_id"] for result in lines_of(out))
    asked = Counter(body["messages"][-1]["content"] for body in deployment.chat.requests)
    assert {asked[prompt] for prompt in prompts} == {1}
    assert "12 of 12 lines answered; 5 of them before" in done.stderr
    assert "12 of 12 lines answered; 12 of them before" in again.stderr


def test_wrong_lines_keep_all_from_being_submitted_unless_they_are_skipped(
    deployment: Deployment, terminal: Terminal, tmp_path: Path
) -> None:
    good = json.dumps({"prompt": "A line that is right, and beside wrong ones"})
    file, out = tmp_path / "tasks.jsonl", tmp_path / "results.jsonl"
    file.write_text(f'{good}\n{{not json\n{{"prompt": "half \\ud83d"}}\n')
    command = ["submit", "poem", "--file", str(file), "--wait", "--out", str(out)]

    refused = terminal.run(*command, code=2)

    assert "Nothing was submitted" in refused.stderr
    assert f"{file}:2: no JSON" in refused.stderr
    assert f"{file}:3: the line holds half a character, \\ud83d" in refused.stderr
    assert not any("beside wrong ones" in str(body) for body in deployment.chat.requests)
    assert not out.exists()

    done = terminal.run(*command, "--skip-bad")

    assert f"Left out: {file}:3:" in done.stderr
    assert [result["line"] for result in lines_of(out)] == [1]


def test_the_ids_of_a_file_are_the_same_when_it_is_submitted_again_and_new_for_a_new_run(
    terminal: Terminal, tmp_path: Path
) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text('{"prompt": "Once"}\n{"prompt": "Twice"}\n')

    first, second, third = (
        terminal.run("submit", "poem", "--file", str(file), *more).stdout for more in ((), (), ("--run", "anew"))
    )

    assert first == second
    assert not set(first.split()) & set(third.split())


@pytest.mark.parametrize(
    ("words", "stdin", "expected"),
    [
        (["submit", "poem", "-"], b"caf\xe9", "standard input:1: byte 4 of the line, 0xe9, is not UTF-8"),
        (["submit", "poem", "-"], "café".encode("utf-16"), "standard input is UTF-16 text"),
        ([b"submit", b"poem", b"caf\xe9"], b"", "Argument 3 holds the byte 0xe9, which is not UTF-8"),
        ([b"memories", b"search", b"caf\xe9", b"--pool", b"poem"], b"", "Argument 3 holds the byte 0xe9"),
        ([b"trace", b"\xff"], b"", "Argument 2 holds the byte 0xff"),
    ],
)
def test_what_is_not_utf_8_is_refused_and_nothing_is_queued(
    deployment: Deployment, terminal: Terminal, words: list[str | bytes], stdin: bytes, expected: str
) -> None:
    ledger = deployment.client.ledger
    before = ledger.done(), ledger.open_messages()

    done = subprocess.run(
        [sys.executable, "-m", "memshare", *words],
        cwd=ROOT, env=terminal.environment, input=stdin, capture_output=True, timeout=patient(60), check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert expected in done.stderr.decode()
    assert len(done.stderr.strip().splitlines()) == 1
    assert (ledger.done(), ledger.open_messages()) == before


def test_a_byte_order_mark_is_no_part_of_a_prompt(deployment: Deployment, terminal: Terminal) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "memshare", "submit", "poem", "-", "--wait"],
        cwd=ROOT, env=terminal.environment, input="\ufeffA prompt with a mark".encode(), capture_output=True,
        timeout=patient(60), check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert any(body["messages"][-1]["content"] == "A prompt with a mark" for body in deployment.chat.requests)


def test_thirty_threads_wait_for_answers_of_real_workers_while_one_submits(deployment: Deployment) -> None:
    answers: dict[int, str] = {}

    def wait(number: int, task: Submission) -> None:
        answers[number] = task.get(timeout=patient(60))["task_id"]

    client: Client = deployment.client
    tasks, threads = [], []
    for number in range(30):
        tasks.append(client.submit("poem", f"Of thread {number}"))
        threads.append(threading.Thread(target=wait, args=(number, tasks[-1])))
        threads[-1].start()
    for thread in threads:
        thread.join(patient(90))

    assert answers == {number: task.id for number, task in enumerate(tasks)}
