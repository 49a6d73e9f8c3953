"""`memshare answer`: a question answered from the memories of a pool, with what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memshare.cli.options import Json, Payer, Pool, login_name
from memshare.client.client import Client
from memshare.operate.own_redis import connected
from memshare.terminal.console import console, errors, one_line, panel, print_json, styled, table
from memshare.terminal.ids import short_id, the_pool, whose_answer
from memshare_broker.settings import OFFLINE
from memshare_broker.wire.messages import Quoted
from memshare_memory.door.messages import Found

if TYPE_CHECKING:
    from memshare_concepts.answering import AnswerFromMemories


def answer(
    question: Annotated[str, typer.Argument(help="The question.")],
    only_memories: Annotated[
        bool, typer.Option("--only-memories", help="Use the memories alone: the model adds nothing.")
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

    Example: memshare answer "Why does a sonnet turn?" --only-memories --pool poem
    """
    from memshare.client.answering import answer_from

    with Client() as client, connected(client.settings), errors.status("Answering …"):
        name = the_pool(client, pool)
        payer = submitter or login_name()
        answered, found = answer_from(
            client.settings, question, name, memories, only_memories=only_memories, payer=payer
        )
    if answered.model == OFFLINE:
        [(memory, _)] = answered.cites
        similarity = next(one.similarity for one in found if one.memory.id == memory.id)
        quoted = Quoted(id=memory.id, submitter=memory.submitter, similarity=similarity)
        errors.print(whose_answer(quoted), style="yellow")
    _print_json(answered, found) if as_json else _print(answered, found, name)


def _print_json(answered: AnswerFromMemories, found: tuple[Found, ...]) -> None:
    similarity = {one.memory.id: one.similarity for one in found}
    cites = [{"id": memory.id, "why": why, "similarity": similarity[memory.id]} for memory, why in answered.cites]
    print_json(
        {
            "answer": answered.answer,
            "cites": cites,
            "own_knowledge": answered.own_knowledge,
            "questions": answered.questions,
            "related": [one.memory.id for one in found],
            "model": answered.model,
        }
    )


def _print(answered: AnswerFromMemories, found: tuple[Found, ...], pool: str) -> None:
    if answered.answer is not None:
        console.print(panel(answered.answer, styled(("Answer", "bold"), f" · {answered.model}")))
    else:
        console.print("The memories do not suffice to answer this.", style="yellow")
    similarity = {one.memory.id: f"{one.similarity:.2f}" for one in found}
    rows = [(short_id(memory.id), similarity[memory.id], why, one_line(memory.key)) for memory, why in answered.cites]
    if rows:
        console.print(table("id", "similarity", "why", "memory", rows=rows, title="It rests on"))
    if answered.own_knowledge:
        console.print(styled(("In no memory: ", "yellow"), answered.own_knowledge))
    for question in answered.questions:
        console.print(f"Open: {question}")
    if answered.questions:
        console.print(
            f"These are gaps of pool {pool!r} now: `memshare concepts gaps` lists them, and `memshare concepts explore`"
            " has agents answer them."
        )
