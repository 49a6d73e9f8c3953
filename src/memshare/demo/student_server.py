"""The student of the demo as a chat model, and the process that serves it: `python -m memshare.demo.student_server`."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn

from memshare.client.help_replies import STUDENT
from memshare.demo.text_to_sql import Questions, SqlQuery, SqlQuestion, read_questions
from memshare_broker.child_processes import ends_with_parent, python, signals_wait
from memshare_broker.errors import Unreachable
from memshare_scorer.checks.sql import Tables

CUT = " […]"  # stands where a text was cut for a model


class Student:
    """Copies the SQL of an example, with the names in it exchanged for those of the question."""

    def __init__(self, questions: Iterable[SqlQuestion]) -> None:
        self._written: dict[str, tuple[SqlQuery, dict[str, str]]] = {}
        self._cut: dict[str, str] = {}
        for one in questions:
            self._write(one.query, dict(zip(one.slots, one.values, strict=True)))

    def answer(self, task: SqlQuestion, examples: Sequence[tuple[SqlQuestion, str]]) -> str | None:
        """A copy of the first example, best first, whose names fit the question; None where there is none."""
        copies = (self.copy(task, asked, answer) for asked, answer in examples)
        return next((copy for copy in copies if copy is not None), None)

    def copy(self, task: SqlQuestion, asked: SqlQuestion, answer: str) -> str | None:
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

    def _write(self, query: SqlQuery, values: dict[str, str]) -> str:
        sql = query.filled(values)
        self._written.setdefault(sql, (query, values))
        return sql


class Grader:
    """Says whether SQL answers a question: by its rows where there is a database, else by its text."""

    def __init__(self, questions: Questions) -> None:
        self._tables = Tables(questions.database) if questions.database is not None else None

    def right(self, task: SqlQuestion, answer: str | None) -> bool:
        if answer is None or self._tables is None:
            return answer == task.sql
        rows = self._tables.rows(answer)
        return rows is not None and rows == self._tables.rows(task.sql)


POINTS = 100
MISLEADS, HELPS = 95, 5  # percent
IGNORANCE = "I do not know."
AGREES = {"claims": "Each is a query.", "contradicts": False}

BACKLOG = 2048
COMPLETIONS = "/chat/completions"
NO_LISTING = b'{"object": "list", "data": []}'  # such a server takes any name of a model
MODEL = STUDENT
MODEL_SETTINGS = ("MEMSHARE_MODEL", "MEMSHARE_MODEL_AGENTS", "MEMSHARE_MODEL_SCORER", "MEMSHARE_MODEL_TRAINER")

REFUSAL = "The student of the demo copies SQL, and can do nothing else."


def reply(expert: SqlExpert, body: Mapping[str, Any]) -> str | None:
    """The student's reply to a request of the chat interface: SQL, or the examples that mislead.

    None for anything else.
    """
    wanted = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    turns = [turn["content"] for turn in body["messages"]]
    if wanted is None:
        *shown, asked = turns[1:]
        return expert.answer(asked, list(zip(shown[::2], shown[1::2], strict=True))[::-1])
    document = json.loads(turns[1])
    if "task_1" in wanted["properties"]:
        return json.dumps(labels(document, expert.misleads, AGREES))
    if "comparisons" in wanted["properties"]:
        return json.dumps(comparisons(document, AGREES))
    return None


def comparisons(document: Mapping[str, Any], compared: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The reply to a request for comparisons: one word on all pairs."""
    return {"comparisons": [{"pair": int(number), **compared} for number in document["pairs"]]}


def labels(
    document: Mapping[str, Any], misleads: Callable[[str, Pair], int], compared: Mapping[str, Any]
) -> dict[str, Any]:
    """The reply to a request for labels: how far each example misleads its task, in percent, and one word on rivals."""
    texts = {int(number): (one["prompt"], one["answer"]) for number, one in document["texts"].items()}
    said: dict[str, Any] = {
        name: {str(one): misleads(task["prompt"], texts[one]) for one in task["examples"]}
        for name, task in document["tasks"].items()
    }
    rivals = [
        {"task": name, "text": one, **compared}
        for name, task in document["tasks"].items()
        for one in task.get("rivals", ())
    ]
    return {**said, "rivals": rivals} if rivals else said


def completion(expert: SqlExpert, body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of the response; the student refuses what it cannot do."""
    text = reply(expert, body)
    message = {"role": "assistant", "content": text, "refusal": REFUSAL if text is None else None}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "student", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}


def main() -> None:
    expert = SqlExpert(read_questions())

    async def answer(path: str, body: bytes) -> bytes | None:
        if not path.endswith(COMPLETIONS):
            return None
        return json.dumps(completion(expert, json.loads(body))).encode()

    serve(answer)


Message = MutableMapping[str, Any]
Reply = Callable[[str, bytes], Awaitable[bytes | None]]
"""From the path and the body of a request to the JSON of its reply; None where there is no such path."""


def app(reply: Reply) -> Any:
    """An ASGI app whose every reply is JSON."""

    async def answer(
        scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        body = b""
        more = True
        while more:
            part = await receive()
            body += part.get("body", b"")
            more = part.get("more_body", False)
        listing = scope["path"].endswith("/models")
        content = NO_LISTING if listing else await reply(scope["path"], body)
        status = 404 if content is None else 200
        content = content or b"{}"
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    return answer


def serve(reply: Reply) -> None:
    """Serve on a free port until the process is ended."""
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", flush=True)
        config = uvicorn.Config(app(reply), log_level="warning", access_log=False, lifespan="off", ws="none")
        uvicorn.Server(config).run(sockets=[listening])


@contextmanager
def student_answers() -> Iterator[None]:
    """While the block runs, the environment names the student as the model, for the workers that are started in it."""
    before = dict(os.environ)
    with signals_wait():
        process = subprocess.Popen(
            python("-m", "memshare.demo.student_server"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for who started it
            preexec_fn=ends_with_parent(signal.SIGTERM),
        )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise Unreachable("The student of the demo did not start; what it said stands above.")
        # A role without a model would have that of the user's file of settings.
        os.environ |= dict.fromkeys(MODEL_SETTINGS, MODEL) | {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "student"}
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        process.terminate()
        process.wait()
        if process.stdout:
            process.stdout.close()


Pair = tuple[str, str]
"""A prompt and its answer."""


class SqlExpert:
    """The student answers, and a program knows what is right."""

    def __init__(self, questions: Questions) -> None:
        self._by_text = {one.text: one for split in ("test", "dev", "train") for one in questions.of(split)}
        self._student = Student(self._by_text.values())
        self._grader = Grader(questions)

    def answer(self, prompt: str, shown: list[Pair]) -> str:
        task = self._by_text.get(prompt)
        if task is None:
            return IGNORANCE
        examples = [(self._by_text[asked], answer) for asked, answer in shown if asked in self._by_text]
        return self._student.answer(task, examples) or IGNORANCE

    def points(self, pair: Pair) -> int:
        prompt, answer = pair
        task = self._by_text.get(prompt)
        return POINTS if task is not None and self._grader.right(task, answer) else 0

    def misleads(self, prompt: str, example: Pair) -> int:
        """An example helps where its copy would be right."""
        task, asked = self._by_text.get(prompt), self._by_text.get(example[0])
        if task is None or asked is None:
            return MISLEADS
        copy = self._student.copy(task, asked, self._student.read_cut(example[1]))
        return HELPS if copy is not None and self._grader.right(task, copy) else MISLEADS


if __name__ == "__main__":
    main()
