"""How a drafted rubric came about, as who reviews it sees it: what was proposed, what was taken, and why."""

from __future__ import annotations

from rich.console import Console

from memshare.console import table
from memshare_scorer.draft import Drafting
from memshare_scorer.rubric import Rubric


def print_drafting(drafting: Drafting, rubric: Rubric, out: Console) -> None:
    """The drafts with what was thought of them, then each criterion of the merged rubric with its origin."""
    judged = {one.draft: one for one in drafting.merged.judgements}
    for number, draft in enumerate(drafting.drafts, 1):
        rows = [(one.name, f"{one.points:g}", one.description) for one in draft.criteria]
        out.print(table("criterion", "points", "description", rows=rows, title=f"Draft {number}"))
        if (found := judged.get(number)) is not None:
            out.print(f"Good: {found.keeps}", soft_wrap=True)
            out.print(f"Lacking: {found.lacks}", soft_wrap=True)
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
