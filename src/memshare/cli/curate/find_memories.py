"""`memshare memories search`, `list`, `add` and `edit`, and the conditions on memories as options of commands."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from itertools import islice
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from memshare.cli.curate.forgetting import say_stale, written_from
from memshare.cli.operating import note, print_reply
from memshare.cli.options import By, Chosen, Json, MemoryId, OnlyPool, Pool, Submitter, ValidUntil, login_name
from memshare.client.client import Client
from memshare.client.help_replies import StatsReply
from memshare.client.pools import grade_again, grader_of
from memshare.client.rest.calls.memories import FoundMemory, SearchReply
from memshare.operations.memories import has_changed
from memshare.terminal.console import console, errors, print_json, print_text, short, table
from memshare.terminal.ids import as_json as json_of
from memshare.terminal.ids import (
    counted,
    credibility_of,
    find_memory,
    prompt_and_answer,
    require_pool,
    say_unreadable,
    short_id,
    text_columns,
    the_pool,
)
from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import checked
from memshare_memory.belief.lift import Lift
from memshare_memory.curate.requests import Edit, NewMemory
from memshare_memory.door.messages import LONGEST_PAGE, Conditions, RecallRequest
from memshare_memory.memory import KNOWLEDGE, Memory
from memshare_memory.recall.near_enough import too_far
from memshare_memory.stores.store import Order, SortKey, Where

SCORE = {"min": 0, "max": 100}
DAY = {"metavar": "YYYY-MM-DD"}
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "since": (str, DAY),
    "until": (str, DAY),
    "words": (list[str], {}),
    "score_from": (float, SCORE),
    "score_to": (float, SCORE),
    "credibility_from": (float, {}),
    "credibility_to": (float, {}),
}
"""The type of an option, and its bounds or what stands for it in the help, where it is not any text."""

ScoreFrom = Annotated[float | None, typer.Option(**SCORE, help="Minimum score.")]


def takes_conditions(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options in place of its parameter `conditions`."""
    options = {name: _option(name) for name in Conditions.model_fields}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        named = {name: given.pop(name) for name in options}
        command(conditions=checked(Conditions, "The search", **named), **given)

    signature = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for one in signature.parameters.values():
        parameters += options.values() if one.name == "conditions" else [one]
    keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    run.__signature__ = signature.replace(parameters=keyword)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in keyword}
    return run


def _option(name: str) -> inspect.Parameter:
    kind, bounds = KINDS.get(name, (str, {}))
    flag = f"--{name.replace('_', '-')}"
    about = Conditions.model_fields[name].description or ""
    if name == "words":
        flag, about = "--word", "with this word in prompt or answer; repeatable"
    option = typer.Option(flag, help=f"{about[:1].upper()}{about[1:]}.", **bounds)
    annotation = Annotated[kind | None, option]  # type: ignore[valid-type]  # it is known when this runs
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def lift_in_words(lift: Lift) -> str:
    """The points with their standard error, or how much is missing."""
    if lift.points is None or lift.error is None:
        return f"not known yet: {lift.withheld} of {counted(lift.needed, 'task', 'tasks')} with one withheld at random"
    counts = f"{counted(lift.shown, 'task', 'tasks')} with all shown, {lift.withheld:,} with one withheld at random"
    return f"{lift.points:+.1f} ± {lift.error:.1f} points (standard error; {counts})"


def print_helps(found: StatsReply) -> None:
    """How much memories help, and how many are shown: a line for each that was measured."""
    for harm in found.harms:
        console.print(f"{harm}.", style="red")
    for doubt in found.may_harm:
        console.print(f"{doubt}.")
    if found.too_early:
        console.print(f"What memories do: {found.too_early}.")
    for one in found.told:
        by = found.answered_by(one)
        agents = found.agents_of(one)
        every = f"all tasks of {agents}" if agents else "all tasks"
        of = ", ".join(filter(None, (one.agent, one.kind, by) if one.agent else (every, by and f"by {by}")))
        what = "One memory more or less" if one.way == "one withheld" else f"With memories, {one.way}"
        n = "" if one.difference is None else f", of {one.tasks:,} with and {one.tasks_without:,} without"
        console.print(f"{what}, {of}: {one.in_words}{n}.")
    if any(one.way == "same questions" for one in found.helps):
        told = "Same questions count for MEMSHARE_KEEP_DAYS, 2,000 answers of an agent; what chance withheld, for good."
        console.print(told, style="dim")
    if found.early:
        console.print(found.early)
    for pool, rows in found.numbers.items():
        for row in rows:
            what = f"{pool}, {row.kind or 'all kinds'}, by {row.model}"
            console.print(f"Memories shown in {what}: {row.in_words}.")


def add(
    answer: Annotated[str, typer.Argument(help="The answer, or a statement.")],
    pool: Pool = None,
    prompt: Annotated[str | None, typer.Option(help="The task it answers; leave it out for a statement.")] = None,
    about: Annotated[str | None, typer.Option(help="The question that a statement answers; it is found by it.")] = None,
    kind: Annotated[str | None, typer.Option(help="The kind of task.")] = None,
    submitter: Submitter = "anonymous",
    score: Annotated[float | None, typer.Option(min=0, max=100, help="Its score, where it is known.")] = None,
    valid_until: ValidUntil = None,
    as_json: Json = False,
) -> None:
    """Add a memory by hand and print its id. Without a prompt it is a statement, which agents are shown as knowledge.

    Example: memshare memories add "Paris is the capital of France." --pool plan

    Example: memshare memories add "The museum is closed on Mondays." --about "When is it open?" --pool reasoning
    """
    if about is not None:
        if prompt is not None or kind is not None:
            raise BadInput("--about is for a statement: give it without --prompt and --kind.")
        prompt, kind = about, KNOWLEDGE
    client = Client()
    pool = the_pool(client, pool)
    fields = {"pool": pool, "prompt": prompt, "answer": answer, "kind": kind, "submitter": submitter, "score": score}
    new = checked(NewMemory, "The memory", new_pool=True, valid_until=valid_until, **fields)
    [added] = client.memories.add([new])
    note("add", memory_id=added, pool=pool)
    if has_changed(there := client.memories.get(added), new):
        shows = f"`memshare memories show {short_id(added)}` has what it says now."
        errors.print(f"It is in the pool already, and was changed since: {shows}", style="yellow")
    elif (status := there.status) != "active":
        shows = f"`memshare memories edit {short_id(added)} --status active` shows it again."
        errors.print(f"It is in the pool already, but {status}: {shows}", style="yellow")
    print_json({"id": str(added)}) if as_json else print_text(str(added))


def edit(
    memory_id: MemoryId,
    prompt: Annotated[str | None, typer.Option(help="A new prompt.")] = None,
    answer: Annotated[str | None, typer.Option(help="A new answer.")] = None,
    status: Annotated[str | None, typer.Option(help="active, or hidden: stored, but not shown to agents.")] = None,
    grade: Annotated[
        bool, typer.Option("--grade", help="Grade it again; it is hidden if the score is too low.")
    ] = False,
    valid_until: ValidUntil = None,
    by: By = None,
    as_json: Json = False,
) -> None:
    """Change a memory: it keeps its id, and `memories show` has what it said before and who changed it.

    With another text it has no score and no model any more, and has to earn its credibility anew. What was written
    from a statement is stale then: agents are not shown it until it is graded again or kept, or the statement has
    exactly that text again.

    Example: memshare memories edit 1c6fa3b2 --answer "It opens at ten." --grade
    """
    if prompt is answer is status is valid_until is None and not grade:
        raise BadInput("Say what to change: --prompt, --answer, --status, --valid-until, or --grade.")
    client = Client()
    found = find_memory(client, memory_id)
    fields = {"prompt": prompt, "answer": answer, "status": status, "valid_until": valid_until}
    change = checked(Edit, "The change", id=found, by=by or login_name(), **fields)
    if grade:
        grader_of(client, client.memories.get(found), "--grade")  # before anything is changed
    stale = 0 if prompt is answer is None else written_from(client, [found])
    memory = client.memories.edit(change)
    stale -= memory.active_again
    note("edit", memory_id=found, pool=memory.pool)
    graded = grade_again(client, memory, memory.submitter) if grade else None
    if as_json:
        print_json(memory.model_dump(mode="json") | {"stale": stale} | ({"grading": graded} if graded else {}))
        return
    console.print(f"Changed {short_id(memory.id)}.")
    say_stale(stale)
    if memory.active_again:
        console.print(f"Written from this text, and shown again: {counted(memory.active_again)}.")
    if graded:
        console.print(f"It is being graded: memshare trace {graded}")


Sort = Literal["id", "time", "score", "credibility"]
_KEYS: dict[Sort, SortKey] = {"time": "created", "score": "score", "credibility": "credibility"}
_COLUMNS = ("id", "score", "kind")


@takes_conditions
def search(
    text: Annotated[str, typer.Argument(help="A task, or any text.")],
    pool: Pool = None,
    limit: Annotated[int, typer.Option("--limit", "-k", min=1, max=20, help="Maximum number of memories.")] = 3,
    hybrid: Annotated[bool, typer.Option("--hybrid", help="By words as well as by meaning.")] = False,
    *,
    conditions: Conditions,
    as_json: Json = False,
) -> None:
    """Find the memories that an agent would be shown with this task.

    Example: memshare memories search "a poem about the sea" --pool poem --limit 5 --score-from 90
    """
    client = Client()
    pool = the_pool(client, pool)
    if not text.strip():
        raise BadInput("The text to search for is empty.")
    wanted = checked(
        RecallRequest,
        "The search",
        pool=pool,
        text=text,
        k=limit,
        mode="hybrid" if hybrid else "dense",
        among=conditions.where(),
        new_pool=True,
    )
    recalled = client.memories.recall(wanted)
    found, (least, why) = recalled.found, client.nearness(pool)
    say_unreadable(client)
    far = too_far(recalled.nearest.similarity if recalled.nearest else None, least)
    fits = [FoundMemory(memory=one.memory, similarity=one.similarity, near=one.similarity >= least) for one in found]
    if as_json:
        print_reply(SearchReply(far=far, memories=tuple(fits)))
        return
    if not found:
        console.print(f"Pool {pool!r} has no memories.")
    elif far:
        console.print(far, style="yellow")
    nearest_first = sorted(fits, key=lambda one: -one.similarity)
    is_learnt = recalled.retriever_version > 0
    for near, title in ((True, None), (False, f"Less near than {least:.2f}, {why}")):
        some = fits if is_learnt else nearest_first
        rows = [(f"{one.similarity:.3f}", *row(one.memory)) for one in some if one.near is near]
        if rows:
            console.print(table("similarity", *_COLUMNS, *text_columns(), rows=rows, title=title))
    if fits != nearest_first:
        learnt = "In the order in which agents are shown them: as learnt"
        said = learnt if is_learnt else "The nearest first, as nothing was learnt yet. Agents are shown them otherwise"
        console.print(f"{said}, by the text without names and numbers, too, and by credibility.", style="dim")


@takes_conditions
def list_memories(
    pool: OnlyPool = None,
    *,
    conditions: Conditions,
    status: Annotated[Chosen, typer.Option(help="With this status.")] = "any",
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of memories.")] = 50,
    sort: Annotated[Sort, typer.Option(help="What to sort by, the newest or highest first.")] = "time",
    ascending: Annotated[bool, typer.Option("--ascending", help="With --sort: the lowest first.")] = False,
    as_json: Json = False,
) -> None:
    """List memories.

    Example: memshare memories list --pool poem --kind limerick --sort credibility

    Example: memshare memories list --status stale --since 2026-05-01
    """
    client = Client()
    require_pool(client, pool)
    where = conditions.where(pool=pool, status=None if status == "any" else status)
    found = _by_id(client, where, limit) if sort == "id" else _sorted(client, where, sort, limit, ascending=ascending)
    say_unreadable(client)
    more: dict[str, Callable[[Memory], object]] = {"because": because} if status == "stale" else {}
    if status == "any":
        lost = {one.memory.id for one in client.memories.judge([memory.id for memory in found]) if one.lost_to}
        status_of = {memory.id: "found wrong" if memory.id in lost else memory.status for memory in found}
        more = {"status": lambda memory: status_of[memory.id]} if {*status_of.values()} - {"active"} else {}
    if pool is None:
        more = {"pool": lambda memory: memory.pool, **more}
    columns = [*_COLUMNS, *text_columns(), *more]
    rows = [(*row(memory), *(tell(memory) for tell in more.values())) for memory in found]
    shown: list[dict[str, Any]] = [memory.model_dump(mode="json") for memory in found]
    if sort == "credibility":
        by_id = {one.memory.id: one for one in client.memories.judge([memory.id for memory in found])}
        judged = [by_id[memory.id] for memory in found if memory.id in by_id]
        columns, shown = ["credibility", *columns], [json_of(one) for one in judged]
        rows = [
            (credibility_of(one), *row(one.memory), *(tell(one.memory) for tell in more.values())) for one in judged
        ]
    if as_json:
        print_json(shown)
        return
    console.print(table(*columns, rows=rows) if rows else "No memories.")


def _by_id(client: Client, where: Where, limit: int) -> list[Memory]:
    return _limited(list(islice(client.memories.every(where), limit + 1)), limit)


def _limited(found: list[Memory], limit: int) -> list[Memory]:
    if len(found) > limit:
        errors.print(f"There are more than {limit}; --limit shows more.", style="dim")
    return found[:limit]


def _sorted(client: Client, where: Where, sort: Sort, limit: int, *, ascending: bool) -> list[Memory]:
    if limit > LONGEST_PAGE:
        raise BadInput(f"At most {LONGEST_PAGE:,} memories can be sorted: --limit {LONGEST_PAGE}, or --sort id.")
    found = list(client.memories.first(where, Order(_KEYS[sort], ascending), min(limit + 1, LONGEST_PAGE)))
    return _limited(found, limit)


def row(memory: Memory) -> tuple[str | Text, ...]:
    """A memory in a table of many."""
    return (
        short_id(memory.id),
        score_of(memory),
        short(memory.kind or "–", 12),
        *prompt_and_answer(memory),
    )


def because(memory: Memory) -> str:
    """Why a memory is stale, as people see it."""
    return ", ".join(f"{short_id(one.memory)} was {one.became}" for one in memory.because) or "not known"


def score_of(memory: Memory) -> str:
    """The score of a memory as people see it."""
    return "–" if memory.score is None else f"{memory.score:.1f}"
