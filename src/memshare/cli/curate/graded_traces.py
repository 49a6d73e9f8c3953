"""`memshare memories import --from`: graded runs of other tools, and tables, as memories."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from memshare.client.client import Client
from memshare.client.pools import require_kind
from memshare.files.graded.choosing import FIELD, GradedFile, RunChoice, choose, presidio, programs, read_runs
from memshare.files.graded.sources import Source
from memshare.terminal.console import console, errors, one_line, print_json, progress_bar, table
from memshare.terminal.ids import counted
from memshare_broker.errors import BadInput
from memshare_memory.memory import Memory

From = Annotated[
    Source | None,
    typer.Option("--from", help="The tool that wrote the file; table: rows or JSON lines with prompt, answer, score."),
]
Scores = Annotated[Path | None, typer.Option("--scores", help="The tool's file of scores, where they are apart.")]
ScoreName = Annotated[str | None, typer.Option("--score", help="The score that counts, where runs have several.")]
AtLeast = Annotated[float | None, typer.Option("--at-least", help="The score from which on a run comes in.")]
Scale = Annotated[
    str | None, typer.Option("--scale", metavar="LOW:HIGH", help="The ends of the score's scale. [default: 0:1]")
]
OfAgent = Annotated[
    str | None, typer.Option("--agent", help=f"Whose answers they are: an agent, or {FIELD}NAME of each run.")
]
OfKind = Annotated[str | None, typer.Option("--kind", help=f"Their kind of task, or {FIELD}NAME of each run.")]
Mask = Annotated[bool, typer.Option("--mask-personal-data", help="Put <PERSON> and such in its place, by Presidio.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would come in, and why the rest would not.")]

EXAMPLES = 5


def read_graded(client: Client, files: Sequence[Path], wanted: RunChoice, submitter: str, *, mask: bool) -> GradedFile:
    """The runs of the files that are chosen."""
    cards = client.agents()
    if wanted.agent and not wanted.agent.startswith(FIELD) and wanted.agent not in cards:
        raise BadInput(f"No agent is called {wanted.agent!r}. There are: {', '.join(sorted(cards))}.")
    if not (wanted.kind or "").startswith(FIELD):
        require_kind(cards, wanted.agent, wanted.kind)
    masked = presidio() if mask else str
    with errors.status("Reading …"):
        runs = read_runs(files, wanted.source)
    grade = programs({name: card.rubric for name, card in cards.items()}, client.settings.agents_dir)
    pools = {name: next(iter(card.shared), "") for name, card in cards.items()}
    limit = client.settings.prompt_limit
    with progress_bar("Choosing", len(runs)) as bar:
        advance = partial(bar, advance=1)
        return choose(runs, wanted, pools, submitter, limit, cards=cards, grade=grade, masked=masked, advance=advance)


def show_graded(found: GradedFile, source: Source, fresh: Sequence[Memory], *, dry_run: bool, as_json: bool) -> None:
    """Say how many of the runs came in, of which `fresh` are new, and why the others were left out."""
    there = len(found.memories) - len(fresh)
    runs, row = len(found.memories) + sum(map(len, found.left_out.values())), "row" if source == "table" else "run"
    if as_json:
        counts = {"runs": runs, "imported": len(found.memories), "new": len(fresh), "there": there}
        left_out = {why: len(ids) for why, ids in found.left_out.items()}
        by = {"score": found.score, "at_least": found.at_least, "scale": found.scale, "dry_run": dry_run}
        print_json(counts | {"left_out": left_out, "places": found.left_out} | by)
        return
    said = "Nothing was done. It would import" if dry_run else "Imported"
    console.print(
        f"{said} {counted(len(found.memories))} of {counted(runs, row, f'{row}s')}: {len(fresh):,} new,"
        f" {there:,} there already.{_by(found)}"
    )
    if found.left_out:
        rows = [(why, len(places), one_line(", ".join(places))) for why, places in found.left_out.items()]
        console.print(table("left out, as", f"{row}s", "such as", rows=rows))
    if dry_run:
        examples = [
            ("–" if one.score is None else f"{one.score:.0f}", one_line(f"{one.prompt} → {one.answer}"))
            for one in fresh
        ]
        console.print(table("score", "prompt and answer", rows=examples[:EXAMPLES]))


def _by(found: GradedFile) -> str:
    if found.score is None:
        graded = any(one.score is not None for one in found.memories)
        return " Their scores are by the programs of the agent's rubric." if graded else " They have no score."
    low, high = found.scale
    least = "" if found.at_least is None else f" from {found.at_least:g}"
    return f" By {found.score!r}{least}, on a scale of {low:g} to {high:g}, which is 0 to 100 here."
