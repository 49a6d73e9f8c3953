"""`memshare memories export` and `import`: the pool as a file of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer

from memshare.cli.condition_options import ScoreFrom
from memshare.cli.options import Json, OnlyPool, Submitter, Yes
from memshare.client.client import Client
from memshare.client.pools import encoder_in_use, new_ids
from memshare.files.new_file import new_file
from memshare.files.pairs import PairsFile, bring_in, is_document, read_pairs, read_statements, unknown_pools
from memshare.files.training_data import FORMS, Format, Line, Preferences, rejected_answers
from memshare.operate.own_redis import connected
from memshare.terminal.console import console, errors, print_json, progress_bar
from memshare.terminal.ids import counted, require_pool, the_pool
from memshare_broker.errors import BadInput
from memshare_memory.memory import Memory
from memshare_memory.recall.trust import Standings, standings_key
from memshare_memory.stores.store import Where

Chosen = Literal["active", "hidden", "stale", "any"]
"""A status, or any."""


def export(
    file: Annotated[Path, typer.Argument(help="Where to write JSON lines.")],
    pool: OnlyPool = None,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format", help="Data to train a model with: pairs as messages or sharegpt, or accepted against rejected."
        ),
    ] = None,
    status: Annotated[
        Chosen | None,
        typer.Option(help="With this status. [default: any; with --format, active]", show_default=False),
    ] = None,
    score_from: ScoreFrom = None,
    worth_from: Annotated[
        float | None,
        typer.Option(help="Minimum worth of the submitter to the pool's retriever, in the unit of a cosine (mean: 0)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write memories to a file: as they are, or with --format as data to train a model with. `import` reads both.

    Training data has pairs alone, no statements; of them the trusted ones, unless --status says otherwise.
    `preference` sets them against rejected answers to prompts that say the same, which are known for as long as traces
    are kept.

    Example: memshare memories export pool.jsonl

    Example: memshare memories export train.jsonl --pool poem --format messages --score-from 90
    """
    client = Client()
    require_pool(client, pool)
    chosen: Chosen = status or ("any" if form is None else "active")
    where = Where(pool=pool, status=None if chosen == "any" else chosen, score_from=score_from)
    by_pool = client.memories.stats().by_pool
    total = by_pool.get(pool, 0) if pool else sum(by_pool.values())
    count, written = 0, 0
    lines_of = _form(client, form, pool)
    is_worth_it = _worth(client, worth_from)
    with progress_bar("Exporting", total) as bar, new_file(file) as out:
        for memory in client.memories.every(where):
            lines = lines_of(memory) if is_worth_it(memory) else []
            out.writelines(line + "\n" for line in lines)
            count += len(lines)
            written += bool(lines)
            bar(advance=1)
    if as_json:
        more = {} if form is None else {"left_out": total - written}
        print_json({"exported": count, "file": file} | more)
    elif form is None:
        console.print(f"Exported {counted(count)} to {file}.")
    else:
        console.print(
            f"Exported {count:,} lines to {file}; {counted(total - written)} left out: {_WHY_LEFT_OUT[form]}."
        )


_WHY_LEFT_OUT = {
    "messages": "statements, and what was not chosen",
    "sharegpt": "statements, and what was not chosen",
    "preference": "statements, what was not chosen, and prompts without a rejected answer",
}


def _worth(client: Client, least: float | None) -> Callable[[Memory], bool]:
    """Whether the submitter of a memory is worth enough to its pool; of whom nothing is known, that is 0."""
    if least is None:
        return lambda _: True

    with connected(client.settings) as redis_client:
        encoder = encoder_in_use(client.settings, redis_client)
        pools = client.memories.stats().by_pool
        told = {pool: redis_client.get(standings_key(pool, encoder)) for pool in pools}
    worth = {pool: Standings.model_validate_json(text).worth for pool, text in told.items() if text}
    return lambda memory: worth.get(memory.pool, {}).get(memory.submitter, 0.0) >= least


def _form(client: Client, form: Format | None, pool: str | None) -> Callable[[Memory], list[str]]:
    """The lines that a memory becomes."""
    if form is None:
        return lambda memory: [memory.model_dump_json()]
    of: Callable[[Memory], Iterable[Line]]
    if form == "preference":
        pool_of_agent = {card.name: card.pool for card in client.agents().values()}
        of = Preferences(rejected_answers(client.ledger, pool_of_agent, pool), client.memories.search).of
    else:
        of = FORMS[form]
    return lambda memory: (
        [json.dumps(one, ensure_ascii=False) for one in of(memory)] if memory.prompt is not None else []
    )


def import_memories(
    file: Annotated[
        Path,
        typer.Argument(
            help="JSON lines: exported memories, {pool, prompt, answer, …}, or conversations as {messages: […]}. Or a "
            "document: each paragraph of text, Markdown, HTML or PDF becomes a statement."
        ),
    ],
    pool: Annotated[str | None, typer.Option(help="The pool of a document, and of lines that name none.")] = None,
    submitter: Submitter = "anonymous",
    new_pool: Annotated[bool, typer.Option("--new-pool", help="Create pools that do not exist yet.")] = False,
    facts: Annotated[
        bool,
        typer.Option("--facts", help="Have a model write a document as minimal facts. It says how many calls first."),
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Bring memories in from a file; twice is the same as once. One wrong line, and nothing is imported.

    Exported memories come back as they were exported. Of other lines, those that the pool has already stay as they are.

    Example: memshare memories import pool.jsonl

    Example: memshare memories import handbook.pdf --pool reasoning --facts
    """
    client = Client()
    limit = client.settings.prompt_limit
    if is_document(file):
        found = read_statements(file, the_pool(client, pool), submitter, limit)
    elif facts:
        raise BadInput(f"--facts takes a document: text, Markdown, HTML or PDF. {str(file)!r} is none.")
    else:
        pool_of_agent = {card.name: card.pool for card in client.agents().values()}
        found = read_pairs(file, pool, pool_of_agent, submitter, limit)
    if not new_pool and (unknown := unknown_pools(client, found)):
        raise BadInput(f"Nothing was imported: {unknown} --new-pool begins it.")
    if facts:
        from memshare.cli.curate.import_facts import import_facts

        import_facts(client, file, found.pairs, yes=yes, as_json=as_json)
        return
    ids, new, left_out = found.ids, len(new_ids(client, found.ids)), len(found.left_out)
    _bring_in(client, found)
    if as_json:
        more = {"left_out": left_out} if left_out else {}
        print_json({"imported": len(ids), "new": new, "there": len(ids) - new} | more)
        return
    console.print(f"Imported {counted(len(ids))}: {new:,} new, {len(ids) - new:,} were there already.")
    if left_out:
        console.print(f"{counted(left_out, 'line', 'lines')} left out: an answer with the weight 0 is no example.")


def _bring_in(client: Client, found: PairsFile) -> None:
    total, done = len(found.whole) + len(found.pairs), 0
    try:
        with progress_bar("Importing", total) as bar:
            for done in bring_in(client, found):
                bar(completed=done)
    except KeyboardInterrupt as stop:
        errors.print(
            f"Stopped. {done:,} of {counted(total)} are in. Run the same command again to go on: twice is the same as"
            " once."
        )
        raise typer.Exit(130) from stop
