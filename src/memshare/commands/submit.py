"""`memshare submit`: hand a task, or a file of them, to an agent."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from celery.exceptions import TimeoutError as CeleryTimeoutError
from celery.result import AsyncResult

from memshare.broker.connection import reaching
from memshare.broker.errors import BadInput, MemshareError, Unreachable
from memshare.bulk import results_of, submit_lines
from memshare.client import BULK, INTERACTIVE, Client
from memshare.commands.options import Json
from memshare.console import errors, print_json
from memshare.files import new_file

NO_WORKER_AFTER = 3.0  # seconds without an answer, after which we look whether anybody works


def submit(
    agent: Annotated[str | None, typer.Argument(help="The agent, such as poem; see `memshare agents`.")] = None,
    prompt: Annotated[str | None, typer.Argument(help="The task. '-' reads it from standard input.")] = None,
    kind: Annotated[str | None, typer.Option(help="The kind of task, such as limerick.")] = None,
    memories: Annotated[int | None, typer.Option(help="How many memories to show, 0 to 20.")] = None,
    submitter: Annotated[str, typer.Option(help="Who submits; stands beside the memory.")] = "anonymous",
    document: Annotated[
        list[str] | None, typer.Option(help="A file or folder of MEMSHARE_DOCUMENTS to look in alone; repeatable.")
    ] = None,
    remember: Annotated[
        bool, typer.Option("--remember/--no-remember", help="Whether a good pair is remembered and learnt from.")
    ] = True,
    priority: Annotated[
        int | None, typer.Option(min=0, max=9, help="0 goes first. [default: 3, and 6 for --file]")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the answer and print it.")] = False,
    timeout: Annotated[float, typer.Option(min=0, help="Seconds to wait, for one task.")] = 300,
    file: Annotated[Path | None, typer.Option(help="JSON lines: {agent, prompt, kind, …} each.")] = None,
    out: Annotated[Path | None, typer.Option(help="With --file and --wait: where to write a result a line.")] = None,
    as_json: Json = False,
) -> None:
    """Submit a task and print its id, or with --wait its answer.

    Example: memshare submit poem "A limerick about a lighthouse" --kind limerick --wait
    """
    client = Client()
    if file is not None:
        if prompt is not None:
            raise BadInput("Give a prompt or --file, not both.")
        if out is not None and not wait:
            raise BadInput("--out needs --wait: there are no results yet.")
        defaults = {"agent": agent, "kind": kind, "memories": memories, "submitter": submitter, "documents": document}
        defaults["remember"] = remember
        _submit_file(client, file, out, defaults, BULK if priority is None else priority, wait, timeout, as_json)
        return
    if out is not None:
        raise BadInput("--out goes with --file.")
    if agent is None or prompt is None:
        raise BadInput("Give an agent and a prompt, or --file. `memshare agents` lists the agents.")
    text = sys.stdin.read() if prompt == "-" else prompt
    submitted = client.submit(
        agent,
        text,
        kind=kind,
        memories=memories,
        submitter=submitter,
        documents=document or (),
        remember=remember,
        priority=INTERACTIVE if priority is None else priority,
    )
    if not wait:
        print_json({"task_id": submitted.id}) if as_json else print(submitted.id)
        return
    answer = _wait(client, agent, submitted, timeout)
    print_json(answer) if as_json else print(answer["answer"])


def _wait(client: Client, agent: str, submitted: AsyncResult[Any], timeout: float) -> dict[str, Any]:
    try:
        with reaching(client.settings.redis):
            try:
                return dict(submitted.get(timeout=min(timeout, NO_WORKER_AFTER)))
            except CeleryTimeoutError:
                if not any(agent in worker.queues for worker in client.workers()):
                    errors.print(
                        f"[yellow]No worker serves the queue {agent!r} yet. "
                        f"Start `memshare up`, or `memshare worker {agent}`.[/]"
                    )
                waits = client.ledger.waits(submitted.id)
                if waits is not None:
                    errors.print(f"It waits: {waits.why}", style="yellow", highlight=False, markup=False)
                return dict(submitted.get(timeout=max(0.0, timeout - NO_WORKER_AFTER)))
    except CeleryTimeoutError as error:
        raise Unreachable(
            f"No answer after {timeout:.0f} s. The task stays in its queue: "
            f"`memshare result {submitted.id}` reads it later."
        ) from error
    except MemshareError as error:
        raise MemshareError(f"The task was given up: {error} See `memshare dead show {submitted.id}`.") from error


def _submit_file(
    client: Client,
    file: Path,
    out: Path | None,
    defaults: dict[str, Any],
    priority: int,
    wait: bool,
    timeout: float,
    as_json: bool,
) -> None:
    # The file for the results is opened first: what cannot be written is known before anything is paid for.
    with new_file(out) if out else contextlib.nullcontext() as aside:
        lines = submit_lines(client, file, defaults, priority)
        for line in lines:
            if line.error:
                errors.print(f"{file}:{line.number}: {line.error}", style="yellow", highlight=False, markup=False)
        results = []
        for result in results_of(client, lines, timeout) if wait else ():
            results.append(result)
            print(json.dumps(result, ensure_ascii=False), file=aside)
    if not wait:
        for line in lines:
            if line.task_id:
                print_json({"line": line.number, "task_id": line.task_id}) if as_json else print(line.task_id)
        results = [{"error": line.error} for line in lines if line.error]
    failed = sum(1 for result in results if result.get("error"))
    submitted = sum(1 for line in lines if line.task_id)
    errors.print(f"{submitted} of {len(lines)} lines submitted" + (f", {failed} failed." if failed else "."))
    if failed:
        raise typer.Exit(1)
