"""`memshare submit`: hand a task, or a file of them, to an agent."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from memshare.cli.ask.submit_file import asking, submit_file
from memshare.cli.options import ANSWER_WITHIN, Json, Submitter
from memshare.client.client import BULK, INTERACTIVE, Client
from memshare.client.pools import failing_models
from memshare.files.json_lines import read_messages
from memshare.terminal.console import errors, print_json, print_text, stopping, waiting
from memshare.terminal.ids import short_id, whose_answer
from memshare_broker.delivery.submission import NoAnswerYet, Submission
from memshare_broker.errors import BadInput, MemshareError, Unreachable
from memshare_broker.wire.messages import Quoted
from memshare_broker.wire.same_text import decode

LOOK_EVERY = 3.0  # seconds without an answer, after which we look why
_STAYS = "The task stays in its queue: `memshare result {0}` reads it later."


def submit(
    agent: Annotated[str | None, typer.Argument(help="The agent, such as poem; see `memshare agents`.")] = None,
    prompt: Annotated[str | None, typer.Argument(help="The task. '-' reads it from standard input.")] = None,
    messages: Annotated[
        Path | None,
        typer.Option(help="A conversation that ends with the task: JSON, [{role, content}, …]. '-' is standard input."),
    ] = None,
    kind: Annotated[str | None, typer.Option(help="The kind of task, such as limerick.")] = None,
    memories: Annotated[int | None, typer.Option(help="Number of memories to show, 0 to 20.")] = None,
    submitter: Submitter = "anonymous",
    document: Annotated[
        list[str] | None, typer.Option(help="A file or folder of MEMSHARE_DOCUMENTS to look in alone; repeatable.")
    ] = None,
    remember: Annotated[
        bool, typer.Option("--remember/--no-remember", help="Whether a good pair is remembered and learnt from.")
    ] = True,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="Take the answer to the same task, if it was submitted so today (UTC).")
    ] = False,
    priority: Annotated[
        int | None, typer.Option(min=0, max=9, help="0 goes first. [default: 3, and 6 for --file]")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the answer and print it.")] = False,
    timeout: Annotated[
        float, typer.Option(min=0, help="Seconds to wait for the answer; with --file, for the next one.")
    ] = ANSWER_WITHIN,
    file: Annotated[Path | None, typer.Option(help="JSON lines, {agent, prompt, kind, …} each, or a .csv.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="With --file and --wait: the file that each result is added to as it comes.")
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="With --file: leave wrong lines out, and submit the others.")
    ] = False,
    run: Annotated[
        str | None,
        typer.Option(help="With --file: a new name submits the same lines anew. [default: path of --out or --file]"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Submit a task and print its id, or with --wait its answer.

    A file is submitted once: the same command again goes on where it was, and pays for nothing twice.

    Example: memshare submit poem "A limerick about a lighthouse" --kind limerick --wait

    Example: memshare submit plan --messages talk.json --wait

    Example: memshare submit --file tasks.jsonl --wait --out results.jsonl
    """
    client = Client()
    if file is not None:
        if prompt is not None or messages is not None:
            raise BadInput("Give a prompt, --messages or --file: one of them.")
        if reuse:
            raise BadInput("--reuse is for one task: a file is submitted once anyway.")
        if out is not None and not wait:
            raise BadInput("--out needs --wait: there are no results yet.")
        defaults = {"agent": agent, "kind": kind, "memories": memories, "submitter": submitter, "documents": document}
        submit_file(
            client,
            file,
            defaults | {"remember": remember},
            run=run or str((out or file).absolute()),
            out=out,
            patience=timeout if wait else None,
            priority=BULK if priority is None else priority,
            skip_bad=skip_bad,
            as_json=as_json,
        )
        return
    for name, given in (("--out", out), ("--skip-bad", skip_bad), ("--run", run)):
        if given:
            raise BadInput(f"{name} goes with --file.")
    if agent is None or (prompt is None) == (messages is None):
        raise BadInput("Give an agent, and a prompt or --messages; or give --file. `memshare agents` lists the agents.")
    submitted = client.submit(
        agent,
        re.sub(r"\r?\n\Z", "", decode(sys.stdin.buffer.read(), "standard input")) if prompt == "-" else prompt,
        messages=None if messages is None else read_messages(messages),
        kind=kind,
        memories=memories,
        submitter=submitter,
        documents=document or (),
        remember=remember,
        reuse=reuse,
        priority=INTERACTIVE if priority is None else priority,
    )
    if not wait:
        print_json({"id": submitted.id, "task_id": submitted.id}) if as_json else print_text(submitted.id)
        return
    began = time.monotonic()
    with stopping(_STAYS.format(submitted.id)), waiting(asking(client, [agent], timeout)):
        answer = _wait(client, agent, submitted, timeout)
    took = f"Answered after {time.monotonic() - began:.1f} s"
    errors.print(f"{took}: `memshare trace {short_id(submitted.id)}` tells how, and what becomes of it.", style="dim")
    if quoted := answer.get("quoted"):
        errors.print(whose_answer(Quoted.model_validate(quoted), answer["notes"]), style="yellow")
    print_json({"id": submitted.id, **answer}) if as_json else print_text(answer["answer"])


def _wait(client: Client, agent: str, submitted: Submission, timeout: float) -> dict[str, Any]:
    deadline, said = time.monotonic() + timeout, set[str]()
    try:
        while True:
            try:
                return submitted.get(timeout=max(0.0, min(deadline - time.monotonic(), LOOK_EVERY)))
            except NoAnswerYet as error:
                if time.monotonic() >= deadline:
                    raise Unreachable(f"No answer after {timeout:.0f} s. {_STAYS.format(submitted.id)}") from error
                for line in set(_what_it_waits_for(client, agent, submitted.id)) - said:
                    errors.print(line, style="yellow")
                    said.add(line)
    except Unreachable:
        raise
    except MemshareError as error:
        why = str(error).rstrip(".")
        raise MemshareError(f"The task was given up: {why}. See `memshare dead show {submitted.id}`.") from error


def _what_it_waits_for(client: Client, agent: str, task_id: str) -> Iterator[str]:
    if unserved := client.unserved([agent]):
        yield unserved
    card = client.agents().get(agent)
    if card and (said := failing_models(client.last_calls()).get(card.model or "")):
        yield said
    if (waits := client.journey(task_id, search=True).waits) is not None:
        yield f"It waits: {waits.why}"
