"""`memshare answer`: a question answered from the memories of a pool, with what it rests on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from memshare.cli.ask.trace import draw
from memshare.cli.operating import operating, print_reply
from memshare.cli.options import Json, Payer, Pool
from memshare.operations.serving import ask
from memshare.terminal.console import console, errors, one_line, panel, styled, table
from memshare.terminal.ids import short_id, shorten_ids, the_pool, whose_answer
from memshare_broker.settings import OFFLINE
from memshare_broker.wire.messages import Quoted

if TYPE_CHECKING:
    from memshare.client.rest.calls.concepts import AnsweredReply


def answer(
    question: Annotated[str, typer.Argument(help="The question.")],
    only_memories: Annotated[
        bool, typer.Option("--only-memories", help="Use the memories alone: the model adds nothing.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Answer in steps: sub-questions, searches, and a check of the answer.")
    ] = False,
    pool: Pool = None,
    memories: Annotated[int, typer.Option(min=1, max=20, help="Maximum number of memories to answer from.")] = 8,
    submitter: Payer = None,
    as_json: Json = False,
) -> None:
    """Answer a question from the memories of a pool, and name the memories that the answer rests on.

    One call of the agents' model, and one for the concepts of a new question. Nothing is remembered. Where the memories
    do not suffice it says so, and suggests questions: they become gaps, which `memshare concepts gaps` lists. Without a
    model it shows the nearest memory's answer as it stands.

    With --deep the reasoning agent's engine answers, and its steps are shown: more calls, within that agent's limits.

    Example: memshare answer "Why does a sonnet turn?" --only-memories --pool poem
    """
    from memshare.operations import concepts

    with operating(alone=True) as (backend, caller), errors.status("Answering …"):
        name, payer = the_pool(backend.client, pool), replace(caller, name=submitter or caller.name)
        asked = {"question": question, "memories": memories, "only_memories": only_memories, "deep": deep}
        reply = ask("The question", concepts.answer, backend, payer, name, **asked)
        is_quoted = reply.model == OFFLINE and not reply.far
        nearest = backend.client.memories.get(reply.cites[0].id) if is_quoted else None
    if nearest is not None:
        quoted = Quoted(id=nearest.id, submitter=nearest.submitter, similarity=reply.cites[0].similarity)
        errors.print(whose_answer(quoted), style="yellow")
    print_reply(reply) if as_json else print_answer(reply, name, question)


def print_answer(reply: AnsweredReply, pool: str, question: str) -> None:
    """Print an answer with what it rests on, and what its concepts brought."""
    if reply.steps:
        console.print(draw(question, reply.steps))
    if said := reply.far or reply.unverified:
        console.print(said, style="yellow")
    if reply.answer is not None:
        console.print(panel(reply.answer, styled(("Answer", "bold"), f" · {reply.model}")))
    elif not said:
        console.print("The memories do not suffice to answer this.", style="yellow")
    rows = [
        (
            short_id(one.id),
            f"{one.similarity:.2f}",
            *_by(reply, one.id),
            shorten_ids(one.why),
            one_line(one.prompt or one.answer),
        )
        for one in reply.cites
    ]
    if rows:
        title, found_by = "It rests on" if reply.answer else "The nearest", ("found by",) if reply.brought else ()
        console.print(table("id", "similarity", *found_by, "why", "memory", rows=rows, title=title))
    if reply.concepts:
        names = dict.fromkeys(name for of_level in reply.concepts.values() for name in of_level)
        console.print(styled(("Concepts of the question: ", "dim"), ", ".join(names)))
    cited = {one.id for one in reply.cites}
    for memory, shared in reply.brought.items():
        if memory not in cited:
            console.print(f"Shown, too, and not cited: {short_id(memory)}, found by {', '.join(shared)}.")
    if reply.own_knowledge:
        console.print(styled(("In no memory: ", "yellow"), reply.own_knowledge))
    for question in reply.questions:
        console.print(f"Open: {question}")
    if reply.questions:
        console.print(
            f"These are gaps of pool {pool!r} now: `memshare concepts gaps` lists them, and `memshare concepts explore`"
            " has agents answer them."
        )


def _by(reply: AnsweredReply, memory: UUID) -> tuple[str, ...]:
    """The cell that says what a memory was found by, in a table that has one."""
    return (", ".join(reply.brought.get(memory, ("its text",))),) if reply.brought else ()
