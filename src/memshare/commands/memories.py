"""`memshare memories`: look at the pool, and change it."""

from __future__ import annotations

from typing import Annotated

import typer

from memshare.broker.errors import BadInput
from memshare.client import Client
from memshare.commands.balance import balance_as_json, print_balance
from memshare.commands.change_memories import add, edit
from memshare.commands.check import check
from memshare.commands.conflicts import conflicts
from memshare.commands.forget import forget
from memshare.commands.options import Json, MemoryId
from memshare.commands.transfer import export, import_memories
from memshare.commands.trash import purge, restore, trash
from memshare.console import console, errors, moment, panel, print_json, short, styled, table
from memshare.local.own_redis import connected
from memshare.memory_ids import find_memory, short_id
from memshare.memory_pages import as_json as json_of
from memshare.memory_pages import credibility_of, require_pool, say_unreadable
from memshare.memory_service.door.messages import RecallRequest
from memshare.memory_service.memory import Memory, Revision
from memshare.memory_service.recall.balance import balances
from memshare.memory_service.stores.store import Where

app = typer.Typer(
    help="The shared pool: search, list, add, edit, forget, restore, export, import.", no_args_is_help=True
)
app.command()(export)
app.command("import")(import_memories)
app.command()(add)
app.command()(edit)
app.command()(forget)
app.command()(trash)
app.command()(restore)
app.command()(purge)
app.command()(check)
app.command()(conflicts)

Pool = Annotated[str | None, typer.Option(help="Only this pool.")]


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="A task, or any text.")],
    pool: Annotated[str, typer.Option(help="The pool, such as poem.")],
    k: Annotated[int, typer.Option("-k", min=1, max=20, help="How many.")] = 3,
    hybrid: Annotated[bool, typer.Option("--hybrid", help="By words as well as by meaning.")] = False,
    as_json: Json = False,
) -> None:
    """Find the memories that an agent would be shown with this task.

    Example: memshare memories search "a poem about the sea" --pool poem -k 5
    """
    client = Client()
    require_pool(client, pool)
    if not text.strip():
        raise BadInput("The text to search for is empty.")
    wanted = RecallRequest(pool=pool, text=text, k=k, mode="hybrid" if hybrid else "dense", new_pool=True)
    found = client.memories.recall(wanted).found
    say_unreadable(client)
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
        return
    rows = [(f"{one.similarity:.3f}", *_row(one.memory)) for one in found]
    console.print(
        table("similarity", "id", "score", "kind", "prompt", "answer", rows=rows)
        if rows
        else f"Pool {pool!r} has none."
    )


@app.command("list")
def list_memories(
    pool: Pool = None,
    agent: Annotated[str | None, typer.Option(help="Only of this agent.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only of this kind.")] = None,
    submitter: Annotated[str | None, typer.Option(help="Only of this submitter.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    sort: Annotated[str, typer.Option(help="id, or credibility: the most credible first.")] = "id",
    as_json: Json = False,
) -> None:
    """List memories.

    Example: memshare memories list --pool poem --kind limerick --sort credibility
    """
    if sort not in ("id", "credibility"):
        raise BadInput(f"Memories cannot be sorted by {sort!r}: --sort id, or --sort credibility.")
    client = Client()
    require_pool(client, pool)
    found: list[Memory] = []
    for memory in client.memories.every(Where(pool=pool, agent=agent, kind=kind, submitter=submitter)):
        if len(found) == limit and sort == "id":
            errors.print(f"There are more than {limit}; --limit shows more.", style="dim")
            break
        found.append(memory)
    say_unreadable(client)
    columns, rows = ["id", "score", "kind", "prompt", "answer"], [_row(memory) for memory in found]
    shown = [memory.model_dump(mode="json") for memory in found]
    if sort == "credibility":
        judged = client.memories.judge([memory.id for memory in found])
        judged = sorted(judged, key=lambda one: -one.credibility.p)[:limit]
        columns, shown = ["credibility", *columns], [json_of(one) for one in judged]
        rows = [(credibility_of(one), *_row(one.memory)) for one in judged]
    if as_json:
        print_json(shown)
        return
    console.print(table(*columns, rows=rows) if rows else "No memories.")


@app.command()
def show(memory_id: MemoryId, as_json: Json = False) -> None:
    """Show one memory whole.

    Example: memshare memories show 1c6f…
    """
    client = Client()
    judged = client.memories.judge_one(find_memory(client, memory_id))
    if as_json:
        print_json(json_of(judged))
        return
    memory = judged.memory
    about = f" · pool {memory.pool} · {memory.kind or 'no kind'} · {memory.status} · {moment(memory.created)}"
    console.print(styled((str(memory.id), "bold"), about))
    console.print(
        f"by {memory.submitter} · model: {memory.model or '–'} · score {_score(memory)} · task {memory.task_id or '–'}"
    )
    if memory.prompt:
        console.print(panel(memory.prompt, "prompt", "dim"))
    console.print(panel(memory.answer, "answer"))
    console.print(f"Credibility {credibility_of(judged)} after {judged.credibility.credits} tasks that were shown it.")
    if judged.conflicts:
        console.print("Contradicts: " + ", ".join(map(str, judged.conflicts)))
    for revision in memory.history:
        _show_revision(revision)
    if memory.parents:
        console.print("Its answer was shown: " + ", ".join(map(str, memory.parents)))


@app.command()
def stats(as_json: Json = False) -> None:
    """Count the memories of each pool, and say whose help more: those of the model that answers, or those of others.

    Example: memshare memories stats
    """
    client = Client()
    found = client.memories.stats()
    say_unreadable(client)
    with connected(client.settings) as redis_client:
        balance = {pool: of for pool in sorted(found.by_pool) if (of := balances(redis_client, pool))}
    if as_json:
        print_json(found.model_dump() | {"balance": {pool: balance_as_json(of) for pool, of in balance.items()}})
        return
    console.print(
        table("pool", "memories", rows=[*sorted(found.by_pool.items()), (styled(("all", "bold")), found.total)])
    )
    print_balance(balance)


def _show_revision(revision: Revision) -> None:
    """What a memory said before, and who changed it."""
    score = "–" if revision.score is None else f"{revision.score:.1f}"
    title = f"until {moment(revision.until)}, when {revision.by or 'somebody'} changed it · score {score}"
    text = f"{revision.prompt}\n\n{revision.answer}" if revision.prompt else revision.answer
    console.print(panel(text, title, "dim"))


def _row(memory: Memory) -> tuple[str, ...]:
    return (
        short_id(memory.id),
        _score(memory),
        short(memory.kind or "–", 12),
        short(memory.prompt or "–", 22),
        short(memory.answer, 22),
    )


def _score(memory: Memory) -> str:
    return "–" if memory.score is None else f"{memory.score:.1f}"
