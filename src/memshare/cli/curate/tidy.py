"""`memshare memories check`, `untidy`, `conflicts` and `views`: damage, near-duplicates and contradictions."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import ValidationError
from rich.panel import Panel
from rich.table import Table

from memshare.cli.curate.find_memories import lift_in_words
from memshare.cli.curate.forgetting import say_stale
from memshare.cli.operating import operating, print_reply
from memshare.cli.options import Json, OnlyPool, Pool, Rows
from memshare.client.client import Client
from memshare.extras import require
from memshare.files.new_file import new_file
from memshare.operate.data_folder import hold_folder
from memshare.operate.supervisor import environment_of
from memshare.operations import decisions
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.serving import ask
from memshare.terminal.console import (
    console,
    errors,
    moment,
    one_line,
    panel,
    print_json,
    print_text,
    progress_bar,
    short,
    styled,
    table,
)
from memshare.terminal.ids import (
    counted,
    credibility_of,
    find_memory,
    is_id,
    require_pool,
    say_unreadable,
    short_id,
    the_pool,
)
from memshare_broker.child_processes import python
from memshare_broker.errors import BadInput, MemshareError, TryAgain
from memshare_broker.settings import Settings
from memshare_memory.curate.requests import ConflictDecision
from memshare_memory.door.messages import JudgedMemory, RawMemory, RawRequest
from memshare_memory.memory import Memory
from memshare_memory.pool.known_pools import Salvaged
from memshare_memory.stores.data_folder import has_pool
from memshare_memory.stores.store import Where


def untidy(
    pool: Pool = None,
    days: Annotated[int, typer.Option(min=0, help="Memories younger than this may still be of use.")] = 30,
    limit: Rows = 20,
    as_json: Json = False,
) -> None:
    """List memories that are nearly the same, of few words, or without a verdict. It changes nothing.

    Example: memshare memories untidy --pool physics
    """
    require("memshare memories untidy", "concepts")
    from memshare_concepts.nearly_same import Duplicate, duplicates, never_of_use, thin
    from memshare_concepts.pool_graph import vectors_of

    def pair(one: Duplicate) -> tuple[str, str, str]:
        return (f"{one.cosine:.3f}", short_id(one.memories[0]), short_id(one.memories[1]))

    with Client() as client:
        name = the_pool(client, pool)
        with errors.status(f"Looking through pool {name!r}…"):
            say_unreadable(client)
            memories, vectors = vectors_of(client.memories, client.memories.every(Where(pool=name, status="active")))
            same, short_ones = duplicates(memories, vectors), thin(memories)
            judged = {one.memory.id: one for one in client.memories.judge([memory.id for memory in memories])}
            unused = never_of_use(judged, time.time(), days)
    if as_json:
        print_json(
            {
                "duplicates": [one._asdict() for one in same],
                "thin": [one._asdict() for one in short_ones],
                "never_of_use": unused,
            }
        )
        return
    keys = {memory.id: memory.key for memory in memories}
    same, other = ([one for one in same if bool(one.differ) == differ] for differ in (False, True))
    _print(
        f"Nearly the same: {len(same):,}",
        ("cosine", "id", "and", "prompt"),
        [(*pair(one), one_line(keys[one.memories[0]])) for one in same[:limit]],
    )
    _print(
        f"Of nearly the same question, with another answer: {len(other):,}",
        ("cosine", "id", "and", "they differ in"),
        [(*pair(one), one_line(one.differ)) for one in other[:limit]],
    )
    _print(
        f"Of few words: {len(short_ones):,}",
        ("words", "usually", "id", "prompt"),
        [(one.words, f"{one.usual:g}", short_id(one.memory), one_line(keys[one.memory])) for one in short_ones[:limit]],
    )
    _print(
        f"In {days} days without a verdict: {len(unused):,}",
        ("id", "prompt"),
        [(short_id(one), one_line(keys[one])) for one in unused[:limit]],
    )
    console.print("`memshare memories show ID` shows one whole, `edit` and `forget` change it.", style="dim")


def _print(title: str, columns: tuple[str, ...], rows: Iterable[Iterable[object]]) -> None:
    console.print(table(*columns, rows=rows, title=title))


SHOWN = 20  # damaged memories


def check(
    repair: Annotated[
        bool, typer.Option("--repair", help="Rewrite what can be read, and move the rest to a file.")
    ] = False,
    file: Annotated[Path | None, typer.Option(help="Where to move it. [default: damaged-TIME.jsonl]")] = None,
    as_json: Json = False,
) -> None:
    """Check every memory for damage. Exit code 1: some are damaged and were not repaired.

    A pool that does not open, as its files are damaged, is repaired while nothing runs: all that can be read goes to a
    new one, and the damaged files are kept beside it.

    Example: memshare memories check --repair
    """
    client = Client()
    try:
        total = client.memories.stats().total
    except TryAgain:
        if client.settings.memory_url or not client.settings.pool_is_embedded:
            raise
        _require_pool(client.settings.data)
        with errors.status("No memory service runs; looking at the pool's files …"):
            found = salvage(client.settings, repair=repair)
        _say_salvaged(found, as_json=as_json)
        return
    damaged = list(_damaged(client, total))
    mended, moved = (0, 0)
    place = file or Path(f"damaged-{time.strftime('%Y%m%d-%H%M%S')}.jsonl")
    if repair and damaged:
        mended, moved = _repair(client, damaged, place)
    if as_json:
        print_json(
            {
                "memories": total,
                "damaged": [{"id": str(one.id), "problem": one.problem} for one in damaged],
                "mended": mended,
                "moved": moved,
                "file": place if moved else None,
            }
        )
    else:
        print_text(f"{counted(total)}, {len(damaged):,} of them damaged.")
        for one in damaged[:SHOWN]:
            print_text(f"{one.id}  {one.problem}")
        if len(damaged) > SHOWN:
            print_text(f"… and {len(damaged) - SHOWN:,} more.")
        if repair and damaged:
            print_text(f"{mended:,} were written anew" + (f", {moved:,} moved to {place}." if moved else "."))
        elif damaged:
            print_text("`memshare memories check --repair` mends them, or moves them to a file.")
    if damaged and not repair:
        raise typer.Exit(1)


def _require_pool(data: Path) -> None:
    if not has_pool(data):
        raise BadInput(
            f"There is no pool in {str(data)!r}, and no memory service runs on it. MEMSHARE_DATA names another folder;"
            " `memshare up` begins a pool in this one."
        )


def _damaged(client: Client, total: int) -> Iterator[RawMemory]:
    with progress_bar("Checking", total) as bar:
        after = None
        while True:
            page = client.memories.raw(RawRequest(after=after, only="damaged"))
            yield from page.memories
            bar(advance=page.seen)
            if page.after is None:
                return
            after = page.after


def _repair(client: Client, damaged: list[RawMemory], place: Path) -> tuple[int, int]:
    """Returns how many were written anew, and how many moved to the file, where they stand before they are removed."""
    whole = [memory for one in damaged if (memory := _readable(one)) is not None]
    readable = {memory.id for memory in whole}
    lost = [one for one in damaged if one.id not in readable]
    if lost:
        with new_file(place) as out:
            out.writelines(one.model_dump_json() + "\n" for one in lost)
    client.memories.restore(whole)
    return len(whole), len(client.memories.drop_damaged([one.id for one in lost]))


def _readable(one: RawMemory) -> Memory | None:
    """The memory, where its text is whole and something beside it is damaged."""
    try:
        memory = Memory.model_validate_json(str((one.fields or {}).get("memory")))
    except ValidationError:
        return None
    return memory if memory.id == one.id else None


def _say_salvaged(found: Salvaged, *, as_json: bool) -> None:
    if as_json:
        print_json(found.model_dump())
    elif found.damage is None:
        print_text(f"{counted(found.memories)}, and the pool's files are as they were when it was closed.")
    elif found.kept is None:
        print_text(found.damage)
    else:
        left_out = f", and {found.left_out:,} could not be read" if found.left_out else ""
        print_text(
            f"{counted(found.memories)} were saved to a new pool{left_out}. The damaged files are in {found.kept}."
        )
    if found.damage is not None and found.kept is None:
        raise typer.Exit(1)


def salvage(settings: Settings, *, repair: bool) -> Salvaged:
    """Look at the pool of the data folder; raises `MemshareError` where it cannot be read at all, or is in use."""
    command = python("-m", "memshare_memory.pool.salvage", *(["repair"] if repair else []))
    with hold_folder(settings.data):
        done = subprocess.run(
            command, env=environment_of(settings), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    try:
        return Salvaged.model_validate_json(done.stdout)
    except ValidationError:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise MemshareError(
            f"The pool in {str(settings.data)!r} cannot be read: its process ended with {done.returncode} ({last})."
            " Go back to a backup with `memshare restore FILE --replace`."
        ) from None


Two = tuple[str, str]
Said = Literal["right", "confirmed", "dismissed", "undecided"]
_VERDICTS: dict[Said, str] = {
    "right": "contradict each other, and the first is right",
    "confirmed": "contradict each other",
    "dismissed": "do not contradict each other",
    "undecided": "are undecided again",
}
LONGEST = 600  # characters of a prompt or an answer that are shown


def conflicts(
    pool: OnlyPool = None,
    right: Annotated[
        Two | None, typer.Option(metavar="ID ID", help="The first is right, the second is not: show the first alone.")
    ] = None,
    confirm: Annotated[
        Two | None,
        typer.Option(metavar="ID ID", help="These two contradict each other: show the more credible one alone."),
    ] = None,
    dismiss: Annotated[
        Two | None, typer.Option(metavar="ID ID", help="These two do not contradict each other.")
    ] = None,
    undecided: Annotated[
        Two | None, typer.Option(metavar="ID ID", help="Take back what was decided on these two.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List memories that cannot both be true, as a model found; agents are shown the more credible one first.

    Once credibility has told them apart, or a person has confirmed it, they are shown that one alone; or the one that a
    person says is right.

    Example: memshare memories conflicts --pool reasoning

    Example: memshare memories conflicts --right 1c6fa3b2 9d105e57
    """
    chosen: dict[Said, Two | None] = {
        "right": right,
        "confirmed": confirm,
        "dismissed": dismiss,
        "undecided": undecided,
    }
    with operating() as (backend, caller):
        if any(chosen.values()):
            _decide(backend, caller, chosen, as_json=as_json)
            return
        require_pool(backend.client, pool)
        found = decisions.conflicts(backend, caller, pool)
    if as_json:
        print_reply(found)
        return
    for one in found:
        console.print(_side_by_side(*one.memories))
        if one.claims:
            console.print(styled(("claims: ", "dim"), one.claims))
        if one.right:
            console.print(styled(("right, as a person said: ", "dim"), short_id(one.right)))
        console.print()
    if not found:
        console.print("No two memories contradict.")


def views(
    about: Annotated[
        str, typer.Argument(metavar="QUESTION|ID", help="A question, or the id of a memory that answers it.")
    ],
    pool: Pool = None,
    as_json: Json = False,
) -> None:
    """Show all answers of a pool to one question: who holds each of them, and how it fared.

    Answers to nearly the same question count, and what contradicts them. They are one view where only case, spaces,
    quotation marks and their end differ. What a person found right stands first, what is hidden, stale or wrong last.

    Example: memshare memories views "When is the museum closed?" --pool reasoning
    """
    with operating(alone=True) as (backend, caller):
        if is_id(about):
            found = decisions.views(backend, caller, find_memory(backend.client, about))
        else:
            asked = {"pool": the_pool(backend.client, pool), "question": about}
            found = ask("The question", decisions.views, backend, caller, **asked)
    if as_json:
        print_reply(found)
        return
    about = f" · pool {found.pool} · {counted(len(found.views), 'view', 'views')}"
    console.print(styled((short(found.question, LONGEST), "bold"), about))
    for number, one in enumerate(found.views, 1):
        holders = ", ".join(name if count == 1 else f"{name} ({count})" for name, count in one.held_by.items())
        console.print(panel(short(one.answer, LONGEST), f"{number} · by {holders} · since {moment(one.since)}"))
        told = [f"credibility {one.credibility:.2f}, {counted(one.credits, 'verdict')}"]
        told += ["not graded" if one.score is None else f"score {one.score:.1f}"]
        told += [] if one.lift.points is None else [f"lift {lift_in_words(one.lift)}"]
        told += [f"read in {', '.join(one.sources)}"] if one.sources else []
        told += [] if one.status == "active" else [one.status]
        told += [] if one.right is None else [f"found {'right' if one.right else 'wrong'} by a person"]
        told += [f"contradicts {', '.join(str(other + 1) for other in one.contradicts)}"] if one.contradicts else []
        console.print(styled((", ".join(map(short_id, one.memories)), "dim"), f" · {' · '.join(told)}"))
    if not found.views:
        console.print(
            "No memory answers that, or nearly that, question. `memshare memories search` finds what is near."
        )


def _side_by_side(*memories: JudgedMemory) -> Table:
    sides = Table.grid(expand=True, padding=(0, 1))
    for _ in memories:
        sides.add_column(ratio=1, overflow="fold")
    sides.add_row(*(_panel(one) for one in memories))
    return sides


def _panel(one: JudgedMemory) -> Panel:
    memory, verdicts = one.memory, counted(one.credibility.credits, "verdict")
    asked = (f"{short(memory.prompt, LONGEST)}\n", "bold") if memory.prompt else ""
    title = f"{short_id(memory.id)} · credibility {credibility_of(one)} · {verdicts}"
    return panel(styled(asked, short(memory.answer, LONGEST)), title)


def _decide(backend: Backend, caller: Caller, chosen: Mapping[Said, Two | None], *, as_json: bool) -> None:
    given = [(said, typed) for said, typed in chosen.items() if typed]
    if len(given) > 1:
        raise BadInput("Give --right, --confirm, --dismiss or --undecided: one of them.")
    [(said, typed)] = given
    one, other = (find_memory(backend.client, each) for each in typed)
    contradict = None if said == "undecided" else said != "dismissed"
    right = one if said == "right" else None
    pool = backend.client.memories.get(other).pool
    before = _stale(backend, pool) if right else 0
    decision = ConflictDecision(memories=(one, other), contradict=contradict, right=right, undecided=contradict is None)
    decisions.decide_conflict(backend, caller, decision)
    stale = 0 if right is None else max(_stale(backend, pool) - before, 0)
    if as_json:
        print_json(decision.model_dump(mode="json") | {"stale": stale})
        return
    console.print(styled((f"{short_id(one)} and {short_id(other)} {_VERDICTS[said]}.", "bold")))
    say_stale(stale, "the other one")


def _stale(backend: Backend, pool: str) -> int:
    return backend.client.memories.count(Where(pool=pool, status="stale"), "pool")["pool"].get(pool, 0)
