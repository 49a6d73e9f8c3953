"""`memshare rubric`: how answers are graded, and who approved it."""

from __future__ import annotations

import tomllib
from contextlib import closing
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer
from redis.exceptions import RedisError
from rich.console import Console

from memshare.cli.operating import note
from memshare.cli.options import ANONYMOUS, By, Json, Yes, login_name
from memshare.terminal.console import console, errors, print_json, progress_bar, require_consent, table
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings, load_settings
from memshare_llm.models import open_chat, require_model
from memshare_scorer import rubric_file
from memshare_scorer.grading import cannot_grade
from memshare_scorer.rubric import BUNDLED, SUFFIX, Rubric, find_rubric, read_rubric, rubric_files
from memshare_scorer.rubric_file import Drafting

Own = Annotated[
    str, typer.Argument(metavar="RUBRIC", help="A rubric of yours: its name in MEMSHARE_AGENTS_DIR, or its file.")
]

app = typer.Typer(help="Rubrics: how answers are graded, and who approved it.")


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A bundled rubric or one of yours, or a file.")],
    as_json: Json = False,
) -> None:
    """Show a rubric: its criteria, points and approval.

    Example: memshare rubric show poem
    """
    settings = load_settings()
    is_file = name.endswith(".toml") or Path(name).name != name
    rubric = read_rubric(_file_of(name, settings)) if is_file else find_rubric(name, settings.agents_dir)
    doubts = _doubts(settings, rubric.name)
    if as_json:
        print_json(_plain(rubric) | {"doubts": doubts})
        return
    _print(rubric)
    for one in doubts:
        console.print(one, style="yellow")


@app.command()
def draft(
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="What is asked and answered, in a sentence.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="File to write: NAME.rubric.toml in MEMSHARE_AGENTS_DIR.")
    ],
    sets: Annotated[int, typer.Option("--sets", min=1, max=9, help="Rubrics to draft before merging.")] = 3,
    as_json: Json = False,
) -> None:
    """Have the scorer's model draft rubrics for a domain, and merge the best into one for you to review.

    Example: memshare rubric draft "Short recipes for two" --sets 3 --out recipe.rubric.toml
    """
    rubric_file.refuse_existing(out)  # before anything is paid for
    settings = load_settings()
    require_model(settings, "scorer", "`memshare rubric draft`")
    chat = open_chat(settings.model_for("scorer"), timeout=settings.model_timeout, connections=4)
    with progress_bar("Drafting, choosing, wording", sets + 1, shown=not as_json) as bar:
        drafted, came_about = rubric_file.draft(
            chat, domain, sets, lambda done, calls: bar(completed=done, total=calls)
        )
    rubric_file.write_drafting(came_about, out)
    rubric_file.write(drafted, out)
    rubric = read_rubric(out)
    if as_json:
        print_json(_plain(rubric) | {"file": str(out)})
        return
    _print(rubric)
    console.print(f"Written to {out}, with the drafts beside it. Review it, then run: memshare rubric approve {out}")


@app.command()
def approve(
    rubric_or_file: Own,
    by: By = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Approve a rubric after reading it, so that answers are graded by it.

    The approval is of its domain and its criteria, with their ranges and all texts: an edit of these takes it away.
    The threshold is not covered, as it says what is remembered, and not what an answer is worth.

    Of a rubric that was drafted it shows what was proposed, what was thought of it, and what was taken and why.

    Example: memshare rubric approve recipe --by "Ada Lovelace"
    """
    file = _file_of(rubric_or_file, load_settings())
    rubric = read_rubric(file)
    if (name := by or login_name()) == ANONYMOUS:
        raise BadInput("This user has no name: say who approves with --by NAME.")
    came_about = rubric_file.read_drafting(file)
    if not (as_json and yes):
        out = errors if as_json else console
        if came_about is not None:
            print_drafting(came_about, rubric, out)
        _print(rubric, out)
    require_consent(f"Approve it as {name}?", yes=yes)
    approved = rubric_file.approve(file, name, rubric.version)
    note("approve", rubric=approved.name, version=approved.version)
    if as_json:
        print_json(_plain(approved) | {"drafting": came_about and came_about.model_dump(mode="json")})
    else:
        console.print(f"{file} is approved by {name}: version {approved.version}.")


@app.command()
def withdraw(
    rubric_or_file: Own,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Withdraw the approval of a rubric: nothing is graded by it until it is approved again.

    Answers that come to be graded meanwhile are given up, and kept as dead letters.

    Example: memshare rubric withdraw recipe
    """
    out, file = errors if as_json else console, _file_of(rubric_or_file, load_settings())
    out.print(f"{file}: {_approval(read_rubric(file))}.")
    require_consent("Withdraw the approval? Answers are given up ungraded until it is approved again.", yes=yes)
    withdrawn = rubric_file.withdraw(file)
    note("withdraw", rubric=withdrawn.name, version=withdrawn.version)
    if as_json:
        print_json(_plain(withdrawn))
        return
    console.print(
        f"Nothing is graded by {file} any more. Answers that come to be graded are given up. To go on: "
        f"memshare rubric approve {quote(str(file))}, then memshare dead retry --reason rubric"
    )


def _file_of(typed: str, settings: Settings) -> Path:
    """The file of a rubric of the user's, who typed its name or the file; raises `BadInput` for anything else."""
    folder, name, file = settings.agents_dir, typed.removesuffix(SUFFIX), Path(typed)
    own = {one.name.removesuffix(SUFFIX): one for one in sorted(folder.glob(f"*{SUFFIX}"))} if folder else {}
    if not file.is_file() and name in own:
        return own[name]
    if file.is_dir():
        names = " ".join(quote(str(one)) for one in sorted(file.glob(f"*{SUFFIX}")))
        raise BadInput(f"{typed!r} is a folder, and not the file of a rubric. Its rubrics: {names or 'none'}.")
    if not file.exists():
        why = f"none of the rubrics in {str(folder)!r} ({', '.join(own) or 'there are none'}): give one of these names"
        if folder is None:
            why = "MEMSHARE_AGENTS_DIR, in which rubrics are found by their names, is not set here: set it"
        bundled = BUNDLED / f"{name}.toml"
        copy = f" The bundled one is approved; to change it, copy {bundled}." if bundled.exists() else ""
        raise BadInput(f"{typed!r} is no file, and {why}, or give the rubric's file, NAME{SUFFIX}.{copy}")
    if of := _rubric_of_agent(file):
        there = rubric_files(file.parent).get(of, "it is not there yet")
        raise BadInput(f"{typed!r} is the file of an agent. Its rubric {of!r} is another file: {there}")
    return file


def _rubric_of_agent(file: Path) -> str | None:
    """The rubric that the file of an agent names; None for any other file."""
    try:
        rubric = tomllib.loads(file.read_text("utf-8-sig")).get("rubric")
    except (OSError, ValueError):
        return None  # who reads it says what is wrong with it
    return rubric if isinstance(rubric, str) else None


def _doubts(settings: Settings, name: str) -> list[str]:
    """Models that cannot grade by a rubric, as far as this deployment knows; none where it does not run."""
    try:
        with closing(connect(settings.redis, tries=1)) as client:
            return [why for rubric, why in cannot_grade(client) if rubric == name]
    except RedisError:
        return []


def _plain(rubric: Rubric) -> dict[str, Any]:
    return {**rubric.model_dump(mode="json"), "version": rubric.version, "approved": rubric.approved}


def _print(rubric: Rubric, out: Console = console) -> None:
    threshold = f"{rubric.threshold:g}" if isinstance(rubric.threshold, float) else rubric.threshold
    out.print(f"{rubric.name} · version {rubric.version} · threshold {threshold} · {_approval(rubric)}")
    out.print(rubric.domain)
    rows = [(one.name, one.points, ", ".join(one.kinds or ("all",)), one.graded_by) for one in rubric.criteria]
    out.print(table("criterion", "points", "kinds", "description", rows=rows))


def _approval(rubric: Rubric) -> str:
    if rubric.approval is None:
        return "not approved"
    given = f"approved by {rubric.approval.by} on {rubric.approval.on}"
    if rubric.is_copy:
        return f"not approved: it was {given} as the rubric {rubric.approval.rubric!r}, which it was copied from"
    return given if rubric.approved else f"edited since it was {given}: approve it again"


def print_drafting(drafting: Drafting, rubric: Rubric, out: Console) -> None:
    """The drafts with what was thought of them, then each criterion of the merged rubric with its origin."""
    judged = {one.draft: one for one in drafting.merged.judgements}
    for number, draft in enumerate(drafting.drafts, 1):
        rows = [(one.name, f"{one.points:g}", one.description) for one in draft.criteria]
        out.print(table("criterion", "points", "description", rows=rows, title=f"Draft {number}"))
        if (found := judged.get(number)) is not None:
            out.print(f"Good: {found.keeps}")
            out.print(f"Lacking: {found.lacks}")
        out.print()
    there = range(1, len(drafting.drafts) + 1)
    taken = [
        (one.name, ", ".join(str(number) for number in sorted({*one.taken_from}) if number in there) or "none", one.why)
        for one in drafting.merged.criteria
    ]
    out.print(table("criterion", "from draft", "why", rows=taken, title="What was taken"))
    out.print()
    if rubric.version != drafting.version:
        out.print("The rubric has been edited since it was merged.", style="yellow")
