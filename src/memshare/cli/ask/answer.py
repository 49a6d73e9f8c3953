"""`memshare answer`: a question answered from the memories of a pool, with what it rests on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from memshare.cli.curate.change_memories import login_name
from memshare.cli.options import Json, Pool
from memshare.client.client import Client
from memshare.operate.own_redis import connected
from memshare.terminal.console import console, errors, one_line, panel, print_json, short, styled, table
from memshare.terminal.memory_ids import short_id
from memshare.terminal.memory_pages import the_pool
from memshare.terminal.quoted_answer import whose_answer
from memshare_broker.errors import BadInput
from memshare_broker.settings import OFFLINE
from memshare_broker.wire.messages import Quoted
from memshare_llm.no_model import NONE_SET
from memshare_memory.door.messages import Found, RecallRequest, Recollection

if TYPE_CHECKING:
    from memshare_concepts.answering import Answered


def answer(
    question: Annotated[str, typer.Argument(help="The question.")],
    only_memories: Annotated[
        bool, typer.Option("--only-memories", help="Use the memories alone: the model adds nothing.")
    ] = False,
    pool: Pool = None,
    memories: Annotated[int, typer.Option(min=1, max=20, help="Maximum number of memories to answer from.")] = 8,
    submitter: Annotated[str | None, typer.Option(help="Who pays for the call. [default: your login name]")] = None,
    as_json: Json = False,
) -> None:
    """Answer a question from the memories of a pool, and name the memories that the answer rests on.

    One call of the agents' model. Nothing is remembered. Where the memories do not suffice it says so, and suggests
    questions: they become gaps, which `memshare concepts gaps` lists. Without a model it shows the nearest memory's
    answer as it stands.

    Example: memshare answer "Why does a sonnet turn?" --only-memories --pool poem
    """
    from memshare.operate.paid_chat import paid_chat
    from memshare_concepts.answering import answer as answer_from
    from memshare_concepts.gaps.open_questions import OpenQuestions

    with Client() as client, connected(client.settings) as redis_client:
        limit = client.settings.prompt_limit
        if not question.strip() or len(question) > limit:
            raise BadInput(
                f"A question has 1 to {limit:,} characters that are not all blank; this has {len(question):,}."
            )
        name = the_pool(client, pool)
        request = RecallRequest(pool=name, text=question, k=memories, mode="hybrid", new_pool=True)
        recalled = client.memories.recall(request)
        found = recalled.found
        if client.settings.model_for("agents") == OFFLINE:
            _say_nearest(recalled, name, as_json)
            return
        with paid_chat(client.settings, "agents", submitter or login_name()) as chat, errors.status("Answering …"):
            related = [one.memory for one in reversed(found)]
            answered = answer_from(chat, question, related, only_memories=only_memories)
        OpenQuestions(redis_client, name).add(answered.questions, short(question, 200), time.time())
    _print_json(answered, found) if as_json else _print(answered, found, name)


def _say_nearest(recalled: Recollection, pool: str, as_json: bool) -> None:
    """Without a model: the nearest memory's answer, and whose it is."""
    from memshare_concepts.answering import Answered

    if (nearest := recalled.nearest) is None:
        raise BadInput(f"Pool {pool!r} has no memory to show. {NONE_SET}")
    memory = nearest.memory
    whose = whose_answer(Quoted(id=memory.id, submitter=memory.submitter, similarity=nearest.similarity))
    errors.print(whose, style="yellow", soft_wrap=True)
    said = Answered(memory.answer, ((memory, "It is the nearest. No model has read it."),), "", (), OFFLINE)
    _print_json(said, recalled.found) if as_json else _print(said, recalled.found, pool)


def _print_json(answered: Answered, found: tuple[Found, ...]) -> None:
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


def _print(answered: Answered, found: tuple[Found, ...], pool: str) -> None:
    if answered.answer is not None:
        console.print(panel(answered.answer, styled(("Answer", "bold"), f" · {answered.model}")))
    else:
        console.print("The memories do not suffice to answer this.", style="yellow")
    similarity = {one.memory.id: f"{one.similarity:.2f}" for one in found}
    rows = [(short_id(memory.id), similarity[memory.id], why, one_line(memory.key)) for memory, why in answered.cites]
    if rows:
        console.print(table("id", "similarity", "why", "memory", rows=rows, title="It rests on"))
    if answered.own_knowledge:
        console.print(styled(("In no memory: ", "yellow"), answered.own_knowledge), soft_wrap=True)
    for question in answered.questions:
        console.print(f"Open: {question}", soft_wrap=True)
    if answered.questions:
        console.print(
            f"These are gaps of pool {pool!r} now: `memshare concepts gaps` lists them, and `memshare concepts explore`"
            " has agents answer them.",
            soft_wrap=True,
        )
