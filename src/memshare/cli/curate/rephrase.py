"""`memshare memories rephrase`: clearer words for a memory, beside the old ones; a person decides."""

from __future__ import annotations

import re
import sys
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from memshare.cli.options import By, Json, MemoryId, Yes, login_name
from memshare.client.client import Client
from memshare.terminal.console import console, errors, print_json, styled
from memshare.terminal.ids import find_memory, short_id
from memshare_memory.curate.requests import Edit

if TYPE_CHECKING:
    from memshare_concepts.rephrasing import RephrasedMemory
    from memshare_memory.memory import Memory

_WORDS = re.compile(r"\s+|\S+")


def rephrase(
    memory_id: MemoryId,
    question_only: Annotated[
        bool, typer.Option("--question-only", help="Only its prompt; the answer stays as it is.")
    ] = False,
    yes: Yes = False,
    by: By = None,
    as_json: Json = False,
) -> None:
    """Have a model propose clearer words for a memory, and take them or not. Its meaning is to stay the same.

    One call of the agents' model. What you take is an edit like that of `memories edit`: the memory keeps its id and
    what it said before, has no score any more, and has to earn its credibility anew.

    Example: memshare memories rephrase 1c6fa3b2 --question-only
    """
    from memshare.client.paid_chat import paid_chat
    from memshare_concepts.rephrasing import rephrase as proposed_for

    person = by or login_name()
    with Client() as client:
        memory = client.memories.get(find_memory(client, memory_id))
        with paid_chat(client.settings, "agents", person) as chat, errors.status("Rephrasing …"):
            proposal = proposed_for(chat, memory, question_only=question_only)
        if not as_json:
            _show(memory, proposal)
        taken = yes or (not as_json and sys.stdin.isatty() and typer.confirm("Change the memory to this?"))
        if taken:
            texts = {"prompt": proposal.prompt, "answer": proposal.answer}
            client.memories.edit(Edit(id=memory.id, by=person, only_if=memory, **texts))
    if as_json:
        new = {"prompt": proposal.prompt or memory.prompt, "answer": proposal.answer or memory.answer}
        old = {"prompt": memory.prompt, "answer": memory.answer}
        told = {"why": proposal.why, "model": proposal.model, "changed": taken}
        print_json({"id": memory.id, "old": old, "new": new} | told)
    elif taken:
        console.print(
            f"Changed {short_id(memory.id)}. `memories show` has what it said before; `memories edit --grade` has it"
            " graded anew."
        )
    else:
        console.print(
            f"Nothing was changed. `memshare memories edit {short_id(memory.id)}` with --prompt or --answer takes words"
            " of these; with --yes, `rephrase` takes what the model proposes then."
        )


def _show(memory: Memory, proposal: RephrasedMemory) -> None:
    """Old and new side by side, with what goes in red and what comes in green."""
    beside = Table("", "now", "proposed", header_style="bold", show_lines=True)
    for name, old, new in (("prompt", memory.prompt, proposal.prompt), ("answer", memory.answer, proposal.answer)):
        if new is not None:
            beside.add_row(styled((name, "dim")), *differing(old or "", new))
    console.print(beside)
    console.print(styled((f"{proposal.model}: ", "dim"), proposal.why))


def differing(old: str, new: str) -> tuple[Text, Text]:
    """Two texts, word by word: what is in the old one alone is red and struck out, in the new one alone green."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    left, right = [], []
    for kind, start, end, to, until in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        gone, come = "".join(before[start:end]), "".join(after[to:until])
        left.append(gone if kind == "equal" else (gone, "red strike"))
        right.append(come if kind == "equal" else (come, "green"))
    return styled(*left), styled(*right)
