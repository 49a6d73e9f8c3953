"""The conversation of `memshare concepts ask`: keep, drop, edit, or others in place of what is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from uuid import UUID

import typer

from memshare.terminal.console import console, errors, panel, short, styled, table
from memshare.terminal.memory_ids import short_id

if TYPE_CHECKING:
    from memshare_concepts.asking.proposing import Proposer
    from memshare_concepts.asking.round import Proposal, Round, Rounds
    from memshare_memory.memory import Memory

CHOICES = "Enter or k keeps · d drops · e edits · r: others in place of all that are left"


def decide(
    found: Round, rounds: Rounds, proposer: Proposer, memories: Mapping[UUID, Memory], *, show_nearest: bool
) -> Round:
    """Ask for each open question what is to become of it; every decision is kept at once."""
    while still_open := found.those("open"):
        one = still_open[0]
        _show(one, len(still_open), memories if show_nearest else None)
        typed = typer.prompt(CHOICES, default="k", show_default=False).strip().lower()
        if typed == "k":
            found = found.with_one(one.model_copy(update={"state": "kept"}))
        elif typed == "d":
            found = found.with_one(one.model_copy(update={"state": "dropped"}))
        elif typed == "e":
            found = _edited(found, one, proposer)
        elif typed == "r":
            found = _others(found, proposer, memories)
        else:
            errors.print(f"Expected k, d, e or r, not {typed!r}.", style="yellow")
        rounds.keep(found)
    return found


def _show(one: Proposal, left: int, memories: Mapping[UUID, Memory] | None) -> None:
    """A question, with the memories nearest to it where these are given."""
    console.print(panel(one.question, styled((one.id, "bold"), f" · {left} left")))
    if memories is not None and one.nearest:
        rows = [
            (
                short_id(near.id),
                f"{near.similarity:.2f}",
                short(memories[near.id].key if near.id in memories else "–", 100),
            )
            for near in one.nearest
        ]
        console.print(table("id", "similarity", "known already", rows=rows))


def _edited(found: Round, one: Proposal, proposer: Proposer) -> Round:
    # Not shown as the default: the terminal would get it as the model wrote it.
    text = typer.prompt("The question (Enter keeps it as it is)", default=one.question, show_default=False).strip()
    if text == one.question:
        return found.with_one(one.model_copy(update={"state": "kept"}))
    others = [each.question for each in found.those("kept", "open", "submitted") if each.id != one.id]
    checked = proposer.checked([text], others)
    if not checked:
        errors.print("The pool, or this list, has that question already. Edit it again, or drop it.", style="yellow")
        return found
    return found.with_edited(one, checked[0])


def _others(found: Round, proposer: Proposer, memories: Mapping[UUID, Memory]) -> Round:
    """New questions in place of those that are open, from the kept ones."""
    kept = [one.question for one in found.those("kept", "submitted")]
    not_again = [one.question for one in found.those("open", "dropped")]
    wanted = found.wanted.model_copy(update={"count": len(found.those("open"))})
    examples = [memories[one] for one in wanted.target.examples if one in memories]
    with errors.status("Writing others …"):
        return found.with_others(proposer.propose(wanted, examples, kept, not_again))
