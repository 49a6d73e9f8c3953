"""`memshare memories trash`, `restore` and `purge`: what was forgotten, brought back, or gone for good."""

from __future__ import annotations

from typing import Annotated

import typer

from memshare.cli.curate.before_forgetting import (
    AllAnonymous,
    DryRun,
    Ids,
    Model,
    Submitter,
    Task,
    WithChildren,
    chosen,
    require_consent_to,
    show,
)
from memshare.cli.curate.unlearning import retrievers_without
from memshare.cli.options import Json, Yes
from memshare.client.client import Client
from memshare.extras import require
from memshare.terminal.console import console, errors, moment, print_json, table
from memshare.terminal.ids import find_in_trash, short_id
from memshare.terminal.memory_pages import counted, prompt_and_answer, text_columns
from memshare_broker.errors import BadInput
from memshare_memory.curate.requests import RestoreForgotten, TrashRequest
from memshare_memory.forget.answers import FilesRewritten


def trash(
    submitter: Annotated[str | None, typer.Option(help="Only of this submitter.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of memories.")] = 50,
    as_json: Json = False,
) -> None:
    """List what was forgotten and can be restored, the last one forgotten first.

    Example: memshare memories trash --submitter ada
    """
    page = Client().memories.trash(TrashRequest(submitter=submitter, limit=limit))
    if as_json:
        print_json([one.model_dump(mode="json", exclude={"arm", "rivals"}) for one in page.forgotten])
        return
    rows = [
        (short_id(one.memory.id), moment(one.until)[:10], one.memory.pool, *prompt_and_answer(one.memory))
        for one in page.forgotten
    ]
    console.print(table("id", "gone on", "pool", *text_columns(), rows=rows) if rows else "The trash is empty.")
    if page.total > len(rows):
        errors.print(f"There are {page.total:,}; --limit shows more.", style="dim")


def restore(
    memory_ids: Ids = None,
    submitter: Annotated[str | None, typer.Option(help="All forgotten memories of this submitter.")] = None,
    as_json: Json = False,
) -> None:
    """Bring forgotten memories back as they were: text, score, status and credibility.

    What retrievers unlearnt with --roll-back is not learnt again. With --submitter, what their tasks said for memories
    of others counts again.

    Example: memshare memories restore 1c6fa3b2
    """
    if not memory_ids and submitter is None:
        raise BadInput("Say what to restore: ids that `memshare memories trash` shows, or --submitter.")
    client = Client()
    ids = tuple(find_in_trash(client, one) for one in memory_ids or ())
    restored = client.memories.restore_forgotten(RestoreForgotten(ids=ids, submitter=submitter))
    if as_json:
        print_json(restored.model_dump(mode="json"))
        return
    console.print(f"Restored {counted(len(restored.restored))}.")
    if restored.there:
        names = ", ".join(short_id(one) for one in restored.there)
        console.print(f"The pool has these already, and they were left as they are: {names}.")


def purge(
    memory_ids: Ids = None,
    submitter: Submitter = None,
    model: Model = None,
    task: Task = None,
    with_children: WithChildren = False,
    yes: Yes = False,
    all_anonymous: AllAnonymous = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Remove memories for good, at once, wherever they are stored: nothing brings them back.

    From the pool and the trash, from traces, results, dead letters and lessons. Backups and exported
    files stay as they are. With --submitter, what is known of all their tasks and their usage goes, too.

    Example: memshare memories purge --submitter mallory
    """
    require("memshare memories purge", "trainer")  # for what the retrievers learnt
    client = Client()
    which = chosen(client, memory_ids, submitter=submitter, model=model, task=task, children=with_children, trash=True)
    preview = client.memories.forget_preview(which)
    if dry_run or not yes:
        show(preview, "would be removed for good")
    if dry_run:
        if as_json:
            print_json({"would_purge": preview.model_dump(mode="json")})
        return
    require_consent_to(which, "Remove them for good?", yes=yes, all_anonymous=all_anonymous)
    purged = client.memories.purge(which)
    taught = retrievers_without(client, purged.memories, True, ask=False, submitter=which.submitter)
    with errors.status("Rewriting the files of pool and Redis, which have it until then …"):
        rewritten = client.memories.rewrite()  # last: what was learnt stood in them, too
    if as_json:
        done = {"retrievers": taught, "rewritten": rewritten.model_dump(mode="json")}
        print_json(purged.model_dump(mode="json") | done)
        return
    console.print(
        f"Removed {counted(len(purged.memories))}, {purged.journeys:,} traces, {purged.dead_letters:,} dead letters"
        f" and {sum(one['lessons'] for one in taught):,} lessons."
    )
    for line in _left(purged.open_messages, rewritten):
        errors.print(line, style="yellow")


def _left(open_messages: int, rewritten: FilesRewritten) -> list[str]:
    """What a person still has to do."""
    lines = list[str]()
    if open_messages:
        lines.append(f"{open_messages:,} of their tasks are still under way: run this again when they have ended.")
    if not rewritten.redis:
        lines.append("Redis did not rewrite its files: what was removed stands in them until it does (BGREWRITEAOF).")
    if not rewritten.pool:
        lines.append("The Qdrant server rewrites its files in its own time: docs/knowledge.md says how to hurry it.")
    lines += [f"{place} is a copy from before, and may have it: remove it." for place in rewritten.copies]
    lines.append("Backups, maps, exported files and other copies that people made are not touched.")
    return lines
