"""`memshare memories conflicts` and `views`: memories that contradict each other, and who says what to a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import typer
from rich.panel import Panel
from rich.table import Table

from memshare.cli.curate.forgetting import say_stale
from memshare.cli.operating import operating, print_reply
from memshare.cli.options import Json, OnlyPool, Pool
from memshare.operations import decisions
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller
from memshare.operations.serving import ask
from memshare.terminal.console import console, moment, panel, print_json, short, styled
from memshare.terminal.ids import counted, credibility_of, find_memory, is_id, require_pool, short_id, the_pool
from memshare_broker.errors import BadInput
from memshare_memory.curate.requests import ConflictDecision
from memshare_memory.door.messages import JudgedMemory
from memshare_memory.stores.store import Where

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

    Answers to nearly the same question count, and what contradicts them. They are one view where only case, spaces and
    the full stop differ. What a person found right stands first, and what is hidden, stale or found wrong last.

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
        told = [f"credibility {one.credibility:.2f}, shown to {counted(one.credits, 'graded task', 'graded tasks')}"]
        told += ["not graded" if one.score is None else f"score {one.score:.1f}"]
        told += [] if one.lift.points is None else [f"lift {one.lift.points:+.1f} ± {one.lift.error:.1f}"]
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
    memory, shown = one.memory, counted(one.credibility.credits, "graded task", "graded tasks")
    asked = (f"{short(memory.prompt, LONGEST)}\n", "bold") if memory.prompt else ""
    title = f"{short_id(memory.id)} · credibility {credibility_of(one)} · shown to {shown}"
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
    before = _stale(backend, pool)
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
