"""`memshare memories`: look at the pool, and change it."""

from __future__ import annotations

from typing import Annotated

import typer

from memshare.cli.curate.find_memories import (
    add,
    because,
    edit,
    lift_in_words,
    list_memories,
    print_helps,
    score_of,
    search,
)
from memshare.cli.curate.forgetting import forget, purge, restore, retrievers_without, trash
from memshare.cli.curate.tidy import check, conflicts, untidy, views
from memshare.cli.curate.transfer import export, import_memories
from memshare.cli.operating import operating, print_reply
from memshare.cli.options import Json, MemoryId, OnlyPool
from memshare.client.rest.calls.decisions import Decision
from memshare.operations import decisions, listings
from memshare.operations import memories as operations
from memshare.terminal.console import console, errors, moment, panel, print_json, styled, table
from memshare.terminal.ids import (
    counted,
    credibility_of,
    find_memory,
    prompt_and_answer,
    say_unreadable,
    short_id,
    text_columns,
)
from memshare_broker.errors import BadInput
from memshare_memory.memory import Revision
from memshare_memory.stores.store import Where
from memshare_scorer import recheck as checks

LOOK, CHANGE, FORGET, TIDY = "Look", "Add and change", "Forget", "Keep in order"

app = typer.Typer(help="The shared pool: search, list, add, edit, forget, restore, export, import.")
app.command(rich_help_panel=LOOK)(search)
app.command("list", rich_help_panel=LOOK)(list_memories)
app.command(rich_help_panel=LOOK)(views)


@app.command(rich_help_panel=LOOK)
def show(memory_id: MemoryId, as_json: Json = False) -> None:
    """Show one memory in full.

    Example: memshare memories show 1c6fa3b2
    """
    with operating(alone=True) as (backend, caller):
        client = backend.client
        judged = operations.get(backend, caller, find_memory(client, memory_id))
        memory = judged.memory
        rivals = client.memories.judge(judged.conflicts)
        children = list(client.memories.every(Where(parents=[memory.id])))
    if as_json:
        print_json(judged.model_dump(mode="json") | {"children": [str(child.id) for child in children]})
        return
    about = f" · pool {memory.pool} · {memory.kind or 'no kind'} · {memory.status} · {moment(memory.created)}"
    console.print(styled((str(memory.id), "bold"), about))
    console.print(
        f"by {memory.submitter} · model: {memory.model or '–'} · score {score_of(memory)}"
        f" · task {memory.task_id or '–'}"
    )
    if memory.prompt:
        console.print(panel(memory.prompt, "prompt", "dim"))
    console.print(panel(memory.answer, "answer"))
    credibility = f"Credibility {judged.credibility:.2f} from" if memory.is_statement else "Shown before"
    console.print(f"{credibility} {counted(judged.credits, 'verdict')}.")
    if judged.lift.points is not None:
        console.print(f"Lift {lift_in_words(judged.lift)}.")
    confirmed = f"Last confirmed {moment(memory.confirmed)}" if memory.confirmed else "Not confirmed yet"
    console.print(confirmed + (f", valid until {moment(memory.valid_until)}." if memory.valid_until else "."))
    if memory.status == "hidden" and memory.why_hidden:
        console.print(styled(("Hidden", "yellow"), f": {memory.why_hidden}."))
    if (wrong := judged.called_wrong) is not None:
        of = f" (task {wrong.journey})" if wrong.journey else f" (memory {wrong.copy_of})" if wrong.copy_of else ""
        because_of = f": {wrong.why}" if wrong.why else ""
        console.print(styled(("Hidden", "yellow"), f": {wrong.by} called its answer wrong{of}{because_of}."))
    if memory.source:
        console.print(f"Read in {memory.source}.")
    if memory.status == "stale":
        console.print(styled(("Stale", "yellow"), f", because {because(memory)}."))
    for rival in rivals:
        said = f" {short_id(rival.memory.id)} ({credibility_of(rival)}): {rival.memory.answer}"
        decided = "Not shown, for a person found right" if rival.memory.id in judged.lost_to else "Contradicted by"
        what = "Found right over" if rival.memory.id in judged.won_over else decided
        console.print(styled((what, "yellow"), said))
    if judged.both_right:
        console.print("A person said that both are right, it and", *map(short_id, judged.both_right))
    for revision in memory.history:
        _show_revision(revision)
    if origin := memory.origin:
        by = origin.approved_by or "somebody"
        console.print(f"Promoted from the pool {origin.pool}, where it is {origin.memory}; approved by {by}.")
    if memory.parents:
        console.print("Its answer followed, or was a part of: " + ", ".join(map(str, memory.parents)))
    if children:
        stale = sum(child.status == "stale" for child in children)
        console.print(f"{counted(len(children))} written with it{f', of which {stale} are stale' if stale else ''}.")


@app.command(rich_help_panel=LOOK)
def stats(as_json: Json = False) -> None:
    """Count the memories of each pool.

    It also says how much better tasks do with memories, with its 95 % interval, and how many are shown.

    Example: memshare memories stats
    """
    with operating(alone=True) as (backend, caller):
        found = listings.stats(backend, caller)
        say_unreadable(backend.client)
    if as_json:
        print_reply(found)
        return
    rows = [*found.by_pool.items(), (styled(("all", "bold")), found.memories)]
    console.print(table("pool", "memories", rows=rows))
    console.print()
    print_helps(found)


app.command(rich_help_panel=CHANGE)(add)
app.command(rich_help_panel=CHANGE)(edit)
app.command("import", rich_help_panel=CHANGE)(import_memories)
app.command(rich_help_panel=CHANGE)(export)
app.command(rich_help_panel=FORGET)(forget)
app.command(rich_help_panel=FORGET)(trash)
app.command(rich_help_panel=FORGET)(restore)
app.command(rich_help_panel=FORGET)(purge)
app.command(rich_help_panel=TIDY)(conflicts)
app.command(rich_help_panel=TIDY)(untidy)
app.command(rich_help_panel=TIDY)(check)


@app.command(rich_help_panel=TIDY)
def recheck(
    pool: OnlyPool = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Only the answers of this agent.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what fails, and hide nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Hide what fails even if that is more than half.")] = False,
    as_json: Json = False,
) -> None:
    """Run the checks of rubrics on stored answers again, without a model; what fails is hidden with the reason.

    Scorers do so by themselves, too. Exit code 1: a check broke, or more than half failed, and nothing was hidden.

    Example: memshare memories recheck --pool sql --dry-run
    """
    with operating(alone=True) as (backend, caller):
        hide: checks.Hide = "none" if dry_run else "all" if force else "few"
        cards, memories = backend.client.agents().values(), backend.client.memories
        agents_dir = backend.settings.agents_dir
        done = [
            checks.recheck(memories, backend.redis, Where(name, status="active", agent=agent), of, caller.name, hide)
            for name, of in checks.rubrics_of(cards, agents_dir, lambda: memories.stats().by_pool).items()
            if pool in (None, name) and (agent is None or agent in of)
        ]
    if not done:
        raise BadInput("No agent that is meant has an approved rubric with a check: nothing can be checked again.")
    if as_json:
        print_reply(done)
    for one in done if not as_json else ():
        failed = f"{len(one.failed):,} failed, {len(one.hidden):,} hidden, {one.unknown:,} cannot be checked"
        console.print(f"{one.pool}: {counted(one.checked)} checked, {failed}.", *map(short_id, one.failed))
    if why := [one.why for one in done if one.why]:
        errors.print(*why, sep="\n")
        raise typer.Exit(1)


@app.command(rich_help_panel=TIDY)
def promotions(
    memory_id: Annotated[str | None, typer.Argument(metavar="ID", help="Of a memory that is listed.")] = None,
    say: Annotated[Decision, typer.Option(help="What is to become of it.")] = "promote",
    as_json: Json = False,
) -> None:
    """List memories that are proposed for the next pool of their agent, or promote one, or refuse or undo that.

    Example: memshare memories promotions 1c6fa3b2 --say "take back"
    """
    with operating() as (backend, caller):
        if memory_id is None:
            found = decisions.promotions(backend, caller)
        else:
            found = [decisions.decide_promotion(backend, caller, find_memory(backend.client, memory_id), say)]
            retrievers_without(backend.client, found[0].forgotten, roll_back=True, ask=False)
    if as_json:
        print_reply(found)
        return
    rows = [
        (short_id(one.id), said.said or "proposed", said.pool, said.to, said.helped, said.checked, *texts)
        for each in found
        for one, said, texts in [(each.memory.memory, each.proposal, prompt_and_answer(each.memory.memory))]
    ]
    names = ("id", "state", "pool", "for", "helped", "checked", *text_columns())
    console.print(table(*names, rows=rows) if rows else "No memory is proposed for another pool.")


def _show_revision(revision: Revision) -> None:
    """Print the text of a memory before a change, and who changed it."""
    score = "–" if revision.score is None else f"{revision.score:.1f}"
    title = f"until {moment(revision.until)}, when {revision.by or 'somebody'} changed it · score {score}"
    text = f"{revision.prompt}\n\n{revision.answer}" if revision.prompt else revision.answer
    console.print(panel(text, title, "dim"))
