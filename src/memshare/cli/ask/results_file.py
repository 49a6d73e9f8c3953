"""The file that results are written to as they come. It outlives the command that writes it: the next one goes on."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from filelock import lock_descriptor

from memshare.files.json_lines import decode, read_object
from memshare.terminal.console import in_json
from memshare_broker.errors import BadInput

BEGINS = b'{"line":'  # every line of ours


class ResultsFile:
    """An open file of results, one JSON object a line, and what was in it before."""

    def __init__(self, file: BinaryIO, results: list[dict[str, Any]]) -> None:
        self._file = file
        self.answered = {one["task_id"] for one in results if not one.get("error")}
        """Ids of the tasks whose answers are there."""
        self.failed = {one["task_id"]: one["error"] for one in results if one.get("error")}

    def write(self, result: dict[str, Any]) -> None:
        """Append a result, unless it is there."""
        if result.get("error") and self.failed.get(result["task_id"]) == result["error"]:
            return
        self._file.write(f"{in_json(result)}\n".encode())
        self._file.flush()


@contextmanager
def results_file(path: Path, task_ids: Collection[str]) -> Iterator[ResultsFile]:
    """The file of the results of these tasks; it is made where there is none.

    Raises `BadInput` for a file that cannot be written, that another command writes to, or that holds anything else.
    """
    try:
        with path.open("a+b") as file:
            if not lock_descriptor(file.fileno(), blocking=False):
                raise BadInput(f"Another command writes to {str(path)!r}: wait for it, or give another --out.")
            file.seek(0)
            raw = file.read()
            end = raw.rfind(b"\n") + 1
            whole, torn = decode(raw[:end], str(path)).split("\n")[:-1], raw[end:]
            results = [_result(path, number, line, task_ids) for number, line in enumerate(whole, 1)]
            if torn:  # the command before was ended in the middle of a line
                if not torn.startswith(BEGINS[: len(torn)]):
                    _refuse(path, len(whole) + 1, "it is no result")
                file.truncate(end)
            yield ResultsFile(file, results)
    except OSError as error:
        raise BadInput(f"{str(path)!r} cannot be written: {error.strerror}.") from error


def _result(path: Path, number: int, line: str, task_ids: Collection[str]) -> dict[str, Any]:
    try:
        result = read_object(line)
    except BadInput as error:
        _refuse(path, number, str(error))
    if "line" not in result or result.get("task_id") not in task_ids:
        _refuse(path, number, "it is the result of none of these tasks")
    return result


def _refuse(path: Path, number: int, why: str) -> None:
    raise BadInput(
        f"{path}:{number}: {why}. The file stays as it is: give another with --out, or remove it. Results are added to"
        " a file of the same command alone."
    )
