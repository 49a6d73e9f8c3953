"""`memshare memories export` and `import`: the pool as a file of JSON lines, and documents as statements."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from memshare.cli.curate.facts import import_facts, leave_out_wrong
from memshare.cli.curate.find_memories import ScoreFrom
from memshare.cli.curate.graded_traces import (
    AtLeast,
    DryRun,
    From,
    Mask,
    OfAgent,
    OfKind,
    Scale,
    ScoreName,
    Scores,
    read_graded,
    show_graded,
)
from memshare.cli.options import Chosen, Json, OnlyPool, Submitter, Yes
from memshare.client.client import Client
from memshare.client.pools import encoder_in_use, new_ids, pools_known, unread
from memshare.files.graded.choosing import RunChoice
from memshare.files.json_lines import beginning, is_table, refuse
from memshare.files.new_file import new_file
from memshare.files.pairs import (
    NO_EXAMPLE,
    SAME,
    PairsFile,
    bring_in,
    is_document,
    read_pairs,
    read_statements,
    unknown_pools,
)
from memshare.files.skill import FILE, best_memories, skill_name, skill_text
from memshare.files.training_data import FORMS, Format, Line, Preferences, rejected_answers
from memshare.operate.data_folder import connected
from memshare.terminal.console import console, errors, print_json, progress_bar, require_consent, short, stopping
from memshare.terminal.ids import counted, require_pool
from memshare_agents.roster import load_roster
from memshare_broker.errors import BadInput
from memshare_memory.belief.trust import Standings, standings_key
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where
from memshare_scorer.rubric import find_rubric


def export(
    file: Annotated[Path, typer.Argument(help="Where to write JSON lines; of a skill the folder.")],
    pool: OnlyPool = None,
    form: Annotated[
        Literal[Format, "skill"] | None,
        typer.Option(
            "--format",
            help="Data to train a model with: pairs as messages or sharegpt, or accepted against rejected. Or a skill.",
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
    agent: Annotated[str | None, typer.Option(help="The agent whose tasks a skill is for.")] = None,
    kind: Annotated[str | None, typer.Option(help="The kind of task that a skill is for. [default: all]")] = None,
    best: Annotated[int, typer.Option(min=1, max=100, help="Maximum memories of a skill, the best ones.")] = 10,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Write memories to a file: as they are, or with --format as data to train a model with. `import` reads both.

    Training data has pairs alone, no statements; of them the trusted ones, unless --status says otherwise.
    `preference` sets them against rejected answers to prompts that say the same, which are known for as long as traces
    are kept.

    `skill` writes a folder that other agents can install: SKILL.md has the agent's instructions, its best memories
    (by their scores and the worth of their submitters), and how an answer is graded.

    Example: memshare memories export pool.jsonl

    Example: memshare memories export train.jsonl --pool poem --format messages --score-from 90

    Example: memshare memories export skills/riddles --format skill --agent logic --kind riddle
    """
    client = Client()
    require_pool(client, pool)
    chosen: Chosen = status or ("any" if form is None else "active")
    where = Where(pool=pool, status=None if chosen == "any" else chosen, score_from=score_from)
    if form == "skill":
        _export_skill(client, file, agent, replace(where, kind=kind), worth_from, best, yes=yes, as_json=as_json)
        return
    if agent or kind:
        raise BadInput("--agent and --kind are of a skill: add --format skill, or leave them out.")
    by_pool = client.memories.stats().by_pool
    total = by_pool.get(pool, 0) if pool else sum(by_pool.values())
    count, written = 0, 0
    lines_of = _form(client, form, pool)
    worth = None if worth_from is None else _worth(client)
    found = [] if form is None else [one for name in by_pool for one in client.memories.conflicts(name) if one.right]
    lost = {each for one in found for each in one.memories if each != one.right}
    with progress_bar("Exporting", total) as bar, new_file(file) as out:
        for memory in client.memories.every(where):
            is_worth = worth is None or worth(memory) >= (worth_from or 0)
            lines = lines_of(memory) if is_worth and memory.id not in lost else []
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
            f"Exported {counted(count, 'line')} to {file}; {counted(total - written)} left out: {_WHY_LEFT_OUT[form]}."
        )


_WHY_LEFT_OUT = {
    "messages": "statements, what a person found wrong, and what was not chosen",
    "sharegpt": "statements, what a person found wrong, and what was not chosen",
    "preference": "statements, what was found wrong or not chosen, and prompts without a rejected answer",
}


def _export_skill(
    client: Client,
    folder: Path,
    name: str | None,
    where: Where,
    worth_from: float | None,
    most: int,
    *,
    yes: bool,
    as_json: bool,
) -> None:
    """Write the skill of an agent's tasks, or of one kind of them; `where` says which memories may stand in it."""
    skill = skill_name(folder)
    roster = load_roster(client.settings.agents_dir)
    if name not in roster:
        raise BadInput(f"A skill is of an agent: name one with --agent, of {', '.join(roster)}.")
    agent = roster[name]
    agent.kind(where.kind)
    pools = agent.pools or (agent.pool,)
    pool = where.pool or pools[-1]  # of several the one that most are shown
    if pool not in pools:
        raise BadInput(f"The pool of the agent {name!r} is {' or '.join(map(repr, pools))}, not {pool!r}.")
    rubric = find_rubric(agent.rubric, client.settings.agents_dir)
    if folder.is_dir() and any(folder.iterdir()):
        errors.print(f"{folder} is there already, and not empty: {FILE} in it is written anew.")
        require_consent("Go on?", yes=yes)
    worth = _worth(client)
    memories = [
        one
        for one in client.memories.every(replace(where, pool=pool))
        # Another agent that shares the pool does other tasks.
        if one.agent in (None, name) and (worth_from is None or worth(one) >= worth_from)
    ]
    taken = best_memories(memories, worth, client.memories.judge, most)
    if not taken:
        raise BadInput(f"No memory of the pool {pool!r} may stand in it: nothing was written.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{str(folder)!r} cannot be made: {error.strerror or error}.") from error
    with new_file(folder / FILE) as out:
        out.write(skill_text(skill, agent, where.kind, rubric, taken))
    if as_json:
        print_json({"exported": len(taken), "file": folder / FILE, "left_out": len(memories) - len(taken)})
    else:
        console.print(f"Wrote {folder / FILE} with {counted(len(taken))}, of {len(memories):,}.")


def _worth(client: Client) -> Callable[[Memory], float]:
    """Function that tells the worth of a memory's submitter to its pool. An unknown submitter is worth 0."""
    with connected(client.settings) as redis_client:
        encoder = encoder_in_use(client.settings, redis_client)
        told = {pool: redis_client.get(standings_key(pool, encoder)) for pool in client.memories.stats().by_pool}
    worth = {pool: Standings.model_validate_json(text).worth for pool, text in told.items() if text}
    return lambda memory: worth.get(memory.pool, {}).get(memory.submitter, 0.0)


def _form(client: Client, form: Format | None, pool: str | None) -> Callable[[Memory], list[str]]:
    """The lines that a memory becomes."""
    if form is None:
        return lambda memory: [memory.model_dump_json()]
    of: Callable[[Memory], Iterable[Line]]
    if form == "preference":
        pool_of_agent = {card.name: card.pool for card in client.agents().values()}
        of = Preferences(rejected_answers(client.ledger, pool_of_agent, pool), client.memories).of
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
            "document: each paragraph of text, Markdown, HTML or PDF becomes a statement. Or, with --from, graded runs."
        ),
    ],
    pool: Annotated[str | None, typer.Option(help="The pool of a document, and of lines that name none.")] = None,
    submitter: Submitter = "anonymous",
    new_pool: Annotated[bool, typer.Option("--new-pool", help="Create pools that do not exist yet.")] = False,
    facts: Annotated[
        bool,
        typer.Option("--facts", help="Have a model write a document as minimal facts. It says how many calls first."),
    ] = False,
    source: From = None,
    scores: Scores = None,
    score: ScoreName = None,
    at_least: AtLeast = None,
    scale: Scale = None,
    agent: OfAgent = None,
    kind: OfKind = None,
    mask: Mask = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Bring memories in from a file; twice is the same as once. One line that cannot be read, and nothing is imported.

    Exported memories come back as they were exported; others that the pool has already stay as they are. Runs of other
    tools (--from) and rows of tables come in with a prompt, an answer and a score that is high enough. What is left
    out, such as the same again or what was called wrong, is named by its line, and the rest comes in.

    Example: memshare memories import pool.jsonl

    Example: memshare memories import traces.json --from langfuse --score correctness --at-least 0.8 --pool logic

    Example: memshare memories import handbook.pdf --pool reasoning --facts
    """
    client = Client()
    limit, cards = client.settings.prompt_limit, client.agents()

    def wrong(found: PairsFile) -> list[str]:
        unknown = "" if new_pool else unknown_pools(client, found)
        return [f"{unknown} --new-pool begins it. {unread(cards.values(), found.pools)}"] if unknown else []

    if facts and dry_run:
        raise BadInput("--facts says how many calls it takes, and asks before it makes them: leave --dry-run out.")
    of_runs = {"--scores": scores, "--score": score, "--at-least": at_least, "--scale": scale}
    of_runs |= {"--agent": agent, "--kind": kind, "--mask-personal-data": mask}
    if source is None and is_table(file.name, beginning(file)):
        source = "table"
    if source:
        files = [file, *([scores] if scores else [])]
        wanted = RunChoice(source, score, at_least, scale, agent, kind, pool)
        graded = read_graded(client, files, wanted, submitter, mask=mask)
        refuse([*wrong(graded.pairs), *graded.faults], "Nothing was imported.")
        found = graded.pairs
    elif given := [name for name, one in of_runs.items() if one is not None and one is not False]:
        raise BadInput(
            f"{', '.join(given)}: only for graded runs and tables. A line of JSON has such fields itself; where all are"
            " of one, say --from table; for graded runs, the tool that wrote the file."
        )
    elif is_document(file):
        if pool is None:
            there = ", ".join(sorted(pools_known(client)))
            raise BadInput(f"Nothing was imported: a document names no pool. Give one with --pool; there are {there}.")
        found = read_statements(file, pool, submitter, limit)
    elif facts:
        raise BadInput(f"--facts takes a document: text, Markdown, HTML or PDF. {str(file)!r} is none.")
    else:
        pool_of_agent = {name: next(iter(card.shared), "") for name, card in cards.items()}
        found = read_pairs(file, pool, pool_of_agent, submitter, limit, cards, wrong)
    refuse(wrong(found), "Nothing was imported.")
    found = leave_out_wrong(client, found)
    if facts and not source:
        import_facts(client, file, found.pairs, yes=yes, as_json=as_json)
        return
    ids, unknown_ids = found.ids, new_ids(client, found.ids)
    if source:  # of graded runs, those that are there already stay as they are
        fresh = [memory for memory in found.whole if memory.id in unknown_ids]
        if not dry_run:
            _bring_in(client, found._replace(whole=fresh))
        show_graded(graded._replace(memories=found.whole), source, fresh, dry_run=dry_run, as_json=as_json)
        return
    new, each = len(unknown_ids), len(set(ids))
    if not dry_run:
        _bring_in(client, found)
    if as_json:
        left_out, doubled = (len(found.left_out.get(why, ())) for why in (NO_EXAMPLE, SAME))
        more = {"left_out": left_out, "doubled": doubled, "places": found.left_out, "dry_run": dry_run}
        print_json({"imported": each, "new": new, "there": each - new} | {what: n for what, n in more.items() if n})
        return
    said = "Nothing was done. It would import" if dry_run else "Imported" if new else "Nothing new in"
    console.print(f"{said} {counted(each)}: {new:,} new, {each - new:,} there already.")
    for why, places in found.left_out.items():
        console.print(f"{len(places):,} left out: {why} ({short(', '.join(places))}).")


def _bring_in(client: Client, found: PairsFile) -> None:
    total, done = len(found.whole) + len(found.pairs), 0
    goes_on = "Run the same command again to go on: twice is the same as once."
    with stopping(lambda: f"{done:,} of {counted(total)} are in. {goes_on}"):
        with progress_bar("Importing", total) as bar:
            for done in bring_in(client, found):
                bar(completed=done)
        if said := unread(client.agents().values(), found.pools):
            errors.print(said, style="yellow")
