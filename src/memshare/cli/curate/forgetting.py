"""`memshare memories forget`: memories go into the trash, and if wanted what the retrievers learnt from them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

import typer

from memshare.cli.operating import note, operating, print_reply
from memshare.cli.options import ANONYMOUS, Json, Yes
from memshare.client.client import Client
from memshare.client.pools import encoder_in_use
from memshare.extras import NeedsExtra, require
from memshare.operate.data_folder import connected
from memshare.operations.memories import trash as list_trash
from memshare.terminal.console import console, errors, moment, print_json, require_consent, table
from memshare.terminal.ids import counted, find_in_trash, find_memory, prompt_and_answer, short_id, text_columns
from memshare_broker.errors import BadInput
from memshare_broker.observe.safe_text import plain
from memshare_memory.curate.requests import FilesRewritten, Forget, ForgetPreview, RestoreForgotten

Ids = Annotated[list[str] | None, typer.Argument(metavar="ID", help="Their ids, or the first 8 digits of each.")]
Submitter = Annotated[str | None, typer.Option(help="All memories of this submitter.")]
Model = Annotated[str | None, typer.Option(help="All memories with an answer of this model.")]
Task = Annotated[str | None, typer.Option(help="The memory of this task.")]
WithChildren = Annotated[bool, typer.Option("--with-children", help="And everything derived from them.")]
AllAnonymous = Annotated[
    bool, typer.Option("--all-anonymous", help="With --yes: also for the submitter anonymous, who is everybody.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would go, and do nothing.")]


def chosen(
    client: Client,
    ids: list[str] | None,
    *,
    submitter: str | None,
    model: str | None,
    task: str | None,
    children: bool,
    trash: bool,
) -> Forget:
    """The request that these options make; with `trash` an id may be of the trash alone."""
    if not ids and submitter is None and model is None and task is None:
        raise BadInput("Say which memories: ids, --submitter, --model or --task.")
    found = tuple(_find(client, one, trash=trash) for one in ids or ())
    return Forget(ids=found, submitter=submitter, model=model, task_id=task, with_children=children)


def _find(client: Client, typed: str, *, trash: bool) -> UUID:
    try:
        return find_memory(client, typed)
    except BadInput:
        if not trash:
            raise
        return find_in_trash(client, typed)


def show(preview: ForgetPreview, would: str) -> None:
    """Say on stderr what would go; `would` is such as "would be forgotten"."""
    pools = ", ".join(f"{pool} {count:,}" for pool, count in preview.by_pool.items())
    derived = f"; {preview.derived:,} of them derived from the others" if preview.derived else ""
    trashed = f" {preview.trashed:,} in the trash." if preview.trashed else ""
    where = f" ({pools})" if pools else ""
    line = f"{counted(preview.memories)} {would}{where}{derived}.{trashed}"
    errors.print(line)
    rows = [(short_id(one.id), one.submitter, *prompt_and_answer(one)) for one in preview.examples]
    if rows:
        errors.print(table("id", "submitter", *text_columns(), rows=rows))
    if preview.memories > len(rows):
        errors.print(f"… and {preview.memories - len(rows):,} more", style="dim")


def require_consent_to(forget: Forget, question: str, *, yes: bool, all_anonymous: bool) -> None:
    """Return where the person agrees, by an option or by an answer; end the command where not."""
    everybody = forget.submitter == ANONYMOUS
    if yes and everybody and not all_anonymous:
        raise BadInput(
            "The submitter 'anonymous' is everybody who gave no name: nothing was done. Beside --yes it takes"
            " --all-anonymous."
        )
    if everybody and not yes:
        errors.print("'anonymous' is everybody who gave no name.", style="yellow")
    require_consent(question, yes=yes)


def retrievers_without(
    client: Client, gone: Sequence[UUID], roll_back: bool | None, *, ask: bool, submitter: str | None = None
) -> list[dict[str, Any]]:
    """The retrievers that were taught with these memories: the pool, by how much, and the version in use now.

    With a `submitter` also those that this person's answers and words taught. With `roll_back` they learn again without
    all that. None asks where that is possible, and else leaves them.
    """
    if not gone and submitter is None:
        return []
    try:
        require("To see what retrievers learnt from them", "trainer")
    except NeedsExtra as needed:
        errors.print(f"{needed} They keep it until then.")
        return []
    # Not all who forget have what the trainer takes, so it is imported where it is used.
    from memshare_trainer.lesson_log import LessonLog, lessons_with, retrievers, words_with

    found = []
    settings = client.settings
    with connected(settings) as redis_client:
        encoder = encoder_in_use(settings, redis_client)
        for pool in retrievers(redis_client, encoder):
            log = LessonLog(redis_client, pool, encoder, kept=settings.lessons_kept, keep_days=settings.keep_days)
            lessons, words = len(lessons_with(log, gone, submitter)), words_with(log, gone, submitter)
            if lessons or words:
                had = f"{counted(lessons, 'lesson')} and {counted(words, 'word')} of graded answers and feedback"
                undone, version = _undone(log, gone, submitter, had, roll_back, ask=ask)
                taught = {"lessons": lessons, "evidence": words}
                found.append({"pool": pool, **taught, "rolled_back": undone, "version": version})
    return found


def _undone(
    log: Any, gone: Sequence[UUID], submitter: str | None, had: str, roll_back: bool | None, *, ask: bool
) -> tuple[bool, int]:
    """Retrain a retriever (its `LessonLog`) without what it `had`, if wanted: (True if retrained, version then)."""
    undo, version = roll_back, log.head().version
    if undo is None and ask:
        question = f"The retriever of pool {log.pool} had {had} with them. Learn without them?"
        undo = typer.confirm(plain(question), err=True)
    if undo:
        from memshare_trainer.step import unlearn  # torch, which takes more than a second

        with errors.status(f"The retriever of pool {log.pool} learns again, without {had} …"):
            version = unlearn(log, gone, submitter).version
        errors.print(f"The retriever of pool {log.pool} has learnt again, without {had}.")
    elif undo is None:
        errors.print(
            f"The retriever of pool {log.pool} had {had} with them, and keeps what it learnt, as"
            f" --roll-back was not given. `memshare retriever rollback --pool {log.pool}` goes back by versions."
        )
    return bool(undo), version


def trash(
    submitter: Annotated[str | None, typer.Option(help="Only of this submitter.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Maximum number of memories.")] = 50,
    as_json: Json = False,
) -> None:
    """List what was forgotten and can be restored, the last one forgotten first.

    Example: memshare memories trash --submitter ada
    """
    with operating() as (backend, caller):
        found = list_trash(backend, caller, submitter, limit)
    if as_json:
        print_reply(found)
        return
    rows = [
        (short_id(one.memory.id), moment(one.until)[:10], one.memory.pool, *prompt_and_answer(one.memory))
        for one in found.memories
    ]
    console.print(table("id", "gone on", "pool", *text_columns(), rows=rows) if rows else "The trash is empty.")
    if found.total > len(rows):
        errors.print(f"There are {found.total:,}; --limit shows more.", style="dim")


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
    note("restore", submitter=submitter, memories=len(restored.restored))
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
    note("purge", submitter=which.submitter, memories=len(purged.memories))
    taught = retrievers_without(client, purged.memories, True, ask=False, submitter=which.submitter)
    with errors.status("Rewriting the files of pool and Redis, which have it until then …"):
        rewritten = client.memories.rewrite()  # last: what was learnt stood in them, too
    if as_json:
        done = {"retrievers": taught, "rewritten": rewritten.model_dump(mode="json")}
        print_json(purged.model_dump(mode="json") | done)
        return
    console.print(
        f"Removed {counted(len(purged.memories))}, {counted(purged.journeys, 'trace')}, "
        f"{counted(purged.dead_letters, 'dead letter')} and {counted(sum(one['lessons'] for one in taught), 'lesson')}."
    )
    for line in _left(purged.open_messages, rewritten):
        errors.print(line, style="yellow")


def _left(open_messages: int, rewritten: FilesRewritten) -> list[str]:
    """The steps that are left to a person."""
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


def forget(
    memory_ids: Ids = None,
    submitter: Submitter = None,
    model: Model = None,
    task: Task = None,
    with_children: WithChildren = False,
    roll_back: Annotated[
        bool | None,
        typer.Option(
            "--roll-back/--keep-retriever",
            help="Put the retrievers where they would be without them, and with --submitter take back the credit that "
            "their tasks gave. [default: ask for the retrievers]",
        ),
    ] = None,
    yes: Yes = False,
    all_anonymous: AllAnonymous = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Forget memories: agents are not shown them from the next task on. The trash has them for 30 days.

    `memories restore` brings them back, and `memories purge` removes them for good. What was written from a statement
    among them is stale: agents are not shown it until it is graded again or kept.

    Example: memshare memories forget --submitter mallory --with-children
    """
    if roll_back:
        require("memshare memories forget --roll-back", "trainer")
    client = Client()
    which = chosen(client, memory_ids, submitter=submitter, model=model, task=task, children=with_children, trash=False)
    if dry_run or not yes:
        preview = client.memories.forget_preview(which)
        show(preview, "would be forgotten")
        if dry_run:
            if as_json:
                print_json({"would_forget": preview.model_dump(mode="json")})
            return
    require_consent_to(which, "Forget them?", yes=yes, all_anonymous=all_anonymous)
    stale = 0 if with_children else written_from(client, which.ids)
    forgotten = client.memories.forget(which.model_copy(update={"roll_back": bool(roll_back)}))
    note("forget", submitter=submitter, memories=len(forgotten))
    ask = not (as_json or yes) and sys.stdin.isatty()
    retrievers = retrievers_without(client, forgotten, roll_back, ask=ask, submitter=submitter)
    if as_json:
        print_json({"forgotten": [str(one) for one in forgotten], "retrievers": retrievers, "stale": stale})
        return
    if not forgotten:
        console.print("0 memories were forgotten: there is none of that kind.")
        return
    back = f"`memshare memories restore {short_id(forgotten[0])}` brings it back"
    if len(forgotten) > 1:
        back = "`memshare memories trash` lists them, and `memshare memories restore ID` brings one back"
    console.print(f"Forgot {counted(len(forgotten))}. {back} within 30 days.")
    say_stale(stale)


def written_from(client: Client, memories: Sequence[UUID]) -> int:
    """How many memories were written from the statements among some; they are stale when those change or go."""
    ids = tuple(one for one in memories if client.memories.get(one).is_statement)
    return client.memories.forget_preview(Forget(ids=ids, only_children=True)).memories if ids else 0


def say_stale(count: int, source: str = "it") -> None:
    """Say what became of memories that were written from a statement that is gone, was found wrong, or has changed."""
    if count:
        again = "graded again" if source == "it" else "graded again, not by a program,"
        errors.print(
            f"{counted(count)} written from {source}: stale now, and not shown until {again} (`memshare memories"
            " edit ID --grade`) or kept (`--status active`). `memshare memories list --status stale` lists them."
        )
