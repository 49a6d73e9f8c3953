"""What exploring found out: each question with why it was asked, its answer and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from memshare.files.new_file import new_file
from memshare.terminal.console import console, short, table
from memshare.terminal.memory_ids import short_id
from memshare_broker.observe.plain_text import plain
from memshare_llm.limits.budget import in_words
from memshare_llm.limits.usage import Used


@dataclass(frozen=True)
class Learnt:
    """What came of one question."""

    why: str
    question: str
    task_id: str
    answer: str | None = None
    score: str = "–"
    outcome: str = "unfinished"
    memory_id: UUID | None = None
    fault: str | None = None


def print_report(learnt: Sequence[Learnt], used: Used) -> None:
    """The report as a table."""
    if learnt:
        rows = [
            (
                short_id(one.memory_id) if one.memory_id else "–",
                short(one.question, 60),
                short(one.answer or one.fault or "–", 60),
                one.score,
                one.outcome,
                short(one.why, 60),
            )
            for one in learnt
        ]
        console.print(table("id", "question", "answer", "score", "outcome", "asked because", rows=rows))
    stored = sum(one.memory_id is not None for one in learnt)
    console.print(
        f"Asked {len(learnt)}, of which {stored} are in the pool. Used so far today:"
        f" {used.calls:,} calls, {used.tokens:,} tokens, {in_words(used.money)} in money.",
        soft_wrap=True,
    )


def write_markdown(file: Path, pool: str, learnt: Sequence[Learnt]) -> None:
    """The report as Markdown; texts are quoted line by line, so that none is read as a heading."""
    with new_file(file) as out:
        out.write(f"# What was asked in pool {plain(pool)}\n")
        for one in learnt:
            out.write(f"\n## {_one_line(one.question)}\n\nAsked because: {_one_line(one.why)}\n\n")
            out.write("\n".join(f"> {plain(line)}" for line in (one.answer or one.fault or "–").splitlines()))
            memory = f", memory {one.memory_id}" if one.memory_id else ""
            out.write(f"\n\nScore {one.score}, {_one_line(one.outcome)}{memory}. Task {one.task_id}.\n")


def _one_line(text: str) -> str:
    return short(text, 300)
