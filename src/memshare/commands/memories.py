"""`memshare memories`: look at the pool, and change it."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import typer
from rich.panel import Panel

from memshare.broker.errors import BadInput
from memshare.broker.wire.checking import checked
from memshare.client import Client
from memshare.commands.forget import forget
from memshare.commands.options import Json
from memshare.commands.transfer import export, import_memories
from memshare.console import console, errors, moment, print_json, short, table
from memshare.memory_pages import as_json as json_of
from memshare.memory_pages import credibility_of, require_pool
from memshare.memory_service.curate.requests import Edit, NewMemory
from memshare.memory_service.door.messages import RecallRequest
from memshare.memory_service.memory import Memory
from memshare.memory_service.stores.store import Where

app = typer.Typer(help="The shared pool: search, list, add, edit, forget, export, import.", no_args_is_help=True)
app.command()(export)
app.command("import")(import_memories)
app.command()(forget)

MemoryId = Annotated[UUID, typer.Argument(metavar="ID", help="An id that `memshare memories list` shows.")]
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
    wanted = RecallRequest(pool=pool, text=text, k=k, mode="hybrid" if hybrid else "dense")
    found = client.memories.recall(wanted).found
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
            errors.print(f"[dim]There are more than {limit}; --limit shows more.[/]")
            break
        found.append(memory)
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
def conflicts(pool: Pool = None, as_json: Json = False) -> None:
    """List memories that answer the same question and contradict each other; agents are shown the more credible one.

    Example: memshare memories conflicts --pool reasoning
    """
    client = Client()
    require_pool(client, pool)
    pools = [pool] if pool else sorted(client.memories.stats().by_pool)
    pairs = [pair for one in pools for pair in client.memories.conflicts(one)]
    memories = {one.memory.id: one for one in client.memories.judge([one for pair in pairs for one in pair])}
    found = [[memories[one] for one in pair] for pair in pairs if all(one in memories for one in pair)]
    if as_json:
        print_json([[json_of(one) for one in pair] for pair in found])
        return
    rows = [
        (
            credibility_of(one),
            str(one.memory.id),
            one.credibility.credits,
            short(one.memory.prompt or "–", 40),
            short(one.memory.answer, 50),
        )
        for pair in found
        for one in sorted(pair, key=lambda one: -one.credibility.p)
    ]
    console.print(
        table("credibility", "id", "credits", "prompt", "answer", rows=rows) if rows else "No two memories contradict."
    )


@app.command()
def show(memory_id: MemoryId, as_json: Json = False) -> None:
    """Show one memory whole.

    Example: memshare memories show 1c6f…
    """
    judged = Client().memories.judge_one(memory_id)
    if as_json:
        print_json(json_of(judged))
        return
    memory = judged.memory
    console.print(
        f"[bold]{memory.id}[/] · pool {memory.pool} · {memory.kind or 'no kind'} "
        f"· {memory.status} · {moment(memory.created)}"
    )
    console.print(
        f"by {memory.submitter} · model: {memory.model or '–'} · score {_score(memory)} · task {memory.task_id or '–'}"
    )
    if memory.prompt:
        console.print(Panel(memory.prompt, title="prompt", title_align="left", border_style="dim"))
    console.print(Panel(memory.answer, title="answer", title_align="left"))
    console.print(f"Credibility {credibility_of(judged)} after {judged.credibility.credits} tasks that were shown it.")
    if judged.conflicts:
        console.print("Contradicts: " + ", ".join(map(str, judged.conflicts)))
    if memory.parents:
        console.print("Its answer was shown: " + ", ".join(map(str, memory.parents)))


@app.command()
def add(
    answer: Annotated[str, typer.Argument(help="The answer, or a statement.")],
    pool: Annotated[str, typer.Option(help="The pool, such as poem.")],
    prompt: Annotated[str | None, typer.Option(help="The task it answers; leave it out for a statement.")] = None,
    kind: Annotated[str | None, typer.Option(help="The kind of task.")] = None,
    submitter: Annotated[str, typer.Option(help="Who brings it in.")] = "anonymous",
    score: Annotated[float | None, typer.Option(min=0, max=100, help="Its score, where it is known.")] = None,
    as_json: Json = False,
) -> None:
    """Add a memory by hand and print its id.

    Example: memshare memories add "Paris is the capital of France." --pool plan
    """
    client = Client()
    require_pool(client, pool)
    memory = checked(
        NewMemory, "The memory", pool=pool, prompt=prompt, answer=answer, kind=kind, submitter=submitter, score=score
    )
    [added] = client.memories.add([memory])
    print_json({"id": str(added)}) if as_json else print(added)


@app.command()
def edit(
    memory_id: MemoryId,
    prompt: Annotated[str | None, typer.Option(help="A new prompt.")] = None,
    answer: Annotated[str | None, typer.Option(help="A new answer.")] = None,
    status: Annotated[
        str | None, typer.Option(help="active, probation, or hidden: kept and not shown to agents.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Change a memory; it keeps its id.

    Example: memshare memories edit 1c6f… --status hidden
    """
    if prompt is answer is status is None:
        raise BadInput("Say what to change: --prompt, --answer or --status.")
    change = checked(Edit, "The change", id=memory_id, prompt=prompt, answer=answer, status=status)
    memory = Client().memories.edit(change)
    print_json(memory.model_dump(mode="json")) if as_json else console.print(f"Changed {memory.id}.")


@app.command()
def stats(as_json: Json = False) -> None:
    """Count the memories of each pool.

    Example: memshare memories stats
    """
    found = Client().memories.stats()
    if as_json:
        print_json(found.model_dump())
    else:
        console.print(table("pool", "memories", rows=[*sorted(found.by_pool.items()), ("[bold]all[/]", found.total)]))


def _row(memory: Memory) -> tuple[str, ...]:
    return (
        str(memory.id),
        _score(memory),
        memory.kind or "–",
        short(memory.prompt or "–", 40),
        short(memory.answer, 40),
    )


def _score(memory: Memory) -> str:
    return "–" if memory.score is None else f"{memory.score:.1f}"
