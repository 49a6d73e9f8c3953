"""A chat server that speaks the Batch APIs of OpenAI and Mistral, too: jobs end when a test says so."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Collection, Iterator
from email import message_from_bytes
from typing import Any

from tests.support.chat_script import Script, encode, well
from tests.support.chat_server import ChatServer, _Handler, serving

JOBS = {"/v1/batches": "openai", "/v1/batch/jobs": "mistral"}


class BatchServer(ChatServer):
    """`jobs` are the jobs as they are told, by id in the order in which they came; without `has_batches` none is taken.

    `asked` are the bodies of all calls that jobs were to make.
    """

    def __init__(self, script: Script, port: int = 0, host: str = "127.0.0.1") -> None:
        super().__init__(script, port, host)
        self.RequestHandlerClass = _BatchHandler
        self.has_batches = True
        self.away = False
        self.files: dict[str, bytes] = {}
        self.jobs: dict[str, dict[str, Any]] = {}

    def new_file(self, content: bytes) -> str:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        return name

    def new_job(self, provider: str, body: dict[str, Any]) -> dict[str, Any]:
        name = f"batch-{len(self.jobs) + 1}"
        is_openai = provider == "openai"
        status = {"status": "in_progress" if is_openai else "RUNNING"}
        self.jobs[name] = {**body, **status, "id": name, "object": "batch", "created_at": int(time.time())}
        return self.jobs[name]

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [line["body"] for job in self.jobs.values() for line in self._lines(job)]

    def end_jobs(self, *, status: str | None = None, failing: Collection[int] = (), lost: Collection[int] = ()) -> None:
        """End each job that has not: the last call is told first, and of each job those by number fail or are lost."""
        for job in self.jobs.values():
            if job["status"] not in ("in_progress", "RUNNING"):
                continue
            done, failed = [], []
            for number, line in enumerate(self._lines(job)):
                said = {"id": f"line-{number}", "custom_id": line["custom_id"], "error": None}
                if number in failing:
                    response = {"status_code": 500, "body": {"error": {"message": "no"}}}
                    failed.append({**said, "response": response})
                elif number in lost:
                    error = {"code": "batch_expired", "message": "not in time"}
                    failed.append({**said, "response": None, "error": error})
                else:
                    body = {"model": job.get("model"), **line["body"]}
                    completion = json.loads(encode(body, self.script(body)))
                    done.append({**said, "response": {"status_code": 200, "body": completion}})
            is_openai = "input_file_id" in job
            job["status"] = status or ("completed" if is_openai else "SUCCESS")
            for name, lines in (("output_file", done[::-1]), ("error_file", failed)):
                if lines:
                    file = self.new_file("\n".join(map(json.dumps, lines)).encode())
                    job[f"{name}_id" if is_openai else name] = file

    def _lines(self, job: dict[str, Any]) -> list[dict[str, Any]]:
        [file] = [job["input_file_id"]] if "input_file_id" in job else job["input_files"]
        return [json.loads(line) for line in self.files[file].splitlines()]

    def answer(self, path: str, sent: bytes | None, kind: str) -> bytes | None:
        """The reply to a request about files and jobs; None where there is no such path."""
        path, _, _ = path.partition("?")
        where, _, name = path.rpartition("/")
        if not self.has_batches:
            return None
        if path == "/v1/files" and sent is not None:
            return json.dumps({"id": self.new_file(_uploaded(sent, kind)), "object": "file"}).encode()
        if path in JOBS and sent is not None:
            return json.dumps(self.new_job(JOBS[path], json.loads(sent))).encode()
        if path in JOBS:
            jobs = [*self.jobs.values()][::-1]
            return json.dumps({"object": "list", "data": jobs, "has_more": False, "total": len(jobs)}).encode()
        if where in JOBS and name in self.jobs:
            return json.dumps(self.jobs[name]).encode()
        if name == "content":
            return self.files[where.rpartition("/")[2]]
        return None


def _uploaded(sent: bytes, kind: str) -> bytes:
    parts = message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + sent).get_payload()
    assert isinstance(parts, list), "a file comes as a form of several parts"
    by_name = {part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in parts}
    assert by_name["purpose"] == b"batch"
    return bytes(by_name["file"])


class _BatchHandler(_Handler):
    server: BatchServer

    def do_POST(self) -> None:  # noqa: N802
        if self.path == "/v1/chat/completions":
            super().do_POST()
            return
        sent = self.rfile.read(int(self.headers["Content-Length"]))
        self._tell(self.server.answer(self.path, sent, self.headers["Content-Type"]))

    def do_GET(self) -> None:  # noqa: N802
        self._tell(self.server.answer(self.path, None, ""))

    def _tell(self, content: bytes | None) -> None:
        status = 503 if self.server.away else 200 if content is not None else 404
        content = content if status == 200 and content is not None else b'{"error": {"message": "Not here"}}'
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextlib.contextmanager
def serving_batches(script: Script = well) -> Iterator[BatchServer]:
    """A server that runs in this process while the block does."""
    with serving(script, kind=BatchServer) as server:
        assert isinstance(server, BatchServer)
        yield server
