"""`memshare concepts gaps` and `explore`: what a pool is likely to lack, and agents that answer it, within limits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from memshare.cli.concepts.ask import HYPOTHESES, AnsweringAgent
from memshare.cli.concepts.open_concepts import OpenedConcepts, Size, opened
from memshare.cli.operating import note
from memshare.cli.options import (
    ANSWER_WITHIN,
    AnsweredAs,
    AnsweredBy,
    AnswerTimeout,
    By,
    Json,
    Pool,
    Submitter,
    Yes,
    login_name,
)
from memshare.client.answering import paid_chat
from memshare.client.client import LOW
from memshare.client.journey import outcome_of
from memshare.client.pools import agent_of
from memshare.files.new_file import new_file
from memshare.terminal.console import console, errors, print_json, require_consent, short, stopping, table
from memshare.terminal.ids import counted, short_id
from memshare_broker.errors import BadInput, TryAgain
from memshare_broker.observe.safe_text import plain
from memshare_broker.settings import Settings
from memshare_concepts.decisions import Decisions
from memshare_concepts.open_questions import Explored, ExploredGaps, Gap, OpenQuestions, WantedQuestions
from memshare_llm.limits.budget import in_words, load_prices
from memshare_llm.limits.usage import UsageLog, Used
from memshare_llm.models import require_model

if TYPE_CHECKING:
    from memshare_concepts.proposing import Proposer


def gaps(
    dismiss: Annotated[str | None, typer.Option(metavar="ID", help="Do not list this gap again.")] = None,
    bring_back: Annotated[str | None, typer.Option(metavar="ID", help="List it again.")] = None,
    dismissed: Annotated[bool, typer.Option("--dismissed", help="List those that were dismissed.")] = False,
    by: By = None,
    pool: Pool = None,
    size: Size = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of gaps.")] = 20,
    as_json: Json = False,
) -> None:
    """List what a pool is likely to lack, the likeliest of each kind first, each with the reason.

    A concept that memories name and none is about; two close clusters that nothing connects; a cluster of few memories.

    Example: memshare concepts gaps --pool physics

    Example: memshare concepts gaps --pool physics --dismiss "unexplained:harvard university"
    """
    if sum((dismiss is not None, bring_back is not None, dismissed)) > 1:
        raise BadInput("Give one of --dismiss, --bring-back and --dismissed.")
    with opened("gaps", pool, vectors=True) as found:
        decisions = Decisions(found.redis, found.concepts.pool)
        if dismissed:
            _list_dismissed(decisions, as_json=as_json)
        elif bring_back is not None:
            if not decisions.bring_back(bring_back):
                raise BadInput(f"No gap {bring_back!r} was dismissed. `memshare concepts gaps --dismissed` lists them.")
            print_json({"brought_back": bring_back}) if as_json else console.print(f"{bring_back} is listed again.")
        elif dismiss is not None:
            _dismiss(found, decisions, dismiss, login_name() if by is None else by, size, as_json=as_json)
        else:
            _list(gaps_of(found, decisions, size), limit, as_json=as_json)


def gaps_of(found: OpenedConcepts, decisions: Decisions, size: int | None) -> list[Gap]:
    """The gaps of a pool that was opened with its vectors; questions that somebody asked in vain come first."""
    from memshare_concepts.gaps import gaps_now

    clusters = found.clusters(size)
    with errors.status("Comparing what concepts mean…"):
        return gaps_now(found.concepts, clusters, found.client.memories, found.redis, decisions)


def _dismiss(
    found: OpenedConcepts, decisions: Decisions, gap_id: str, by: str, size: int | None, *, as_json: bool
) -> None:
    by_id = {gap.id: gap for gap in gaps_of(found, decisions, size)}
    if gap_id not in by_id:
        raise BadInput(
            f"Pool {found.concepts.pool!r} has no gap {gap_id!r}, or it was dismissed already."
            " `memshare concepts gaps` lists them with their ids."
        )
    decisions.dismiss(gap_id, by_id[gap_id].names, datetime.now(UTC), by)
    note("decide on concepts", pool=found.concepts.pool, dismiss=gap_id)
    if as_json:
        print_json({"dismissed": gap_id})
    else:
        console.print(f"Dismissed: {gap_id}. `memshare concepts gaps --bring-back` lists it again.")


def _list(gaps: list[Gap], limit: int, *, as_json: bool) -> None:
    if as_json:
        print_json([{"id": gap.id, **vars(gap)} for gap in gaps[:limit]])
        return
    rows = [(gap.kind, gap.reason, gap.id) for gap in gaps[:limit]]
    if not rows:
        console.print("No gaps.")
        return
    console.print(table("kind", "why", "id", rows=rows))
    if len(gaps) > limit:
        errors.print(f"{len(gaps) - limit:,} more: --limit.", style="dim")


def _list_dismissed(decisions: Decisions, *, as_json: bool) -> None:
    found = decisions.dismissed()
    if as_json:
        print_json({one: record.model_dump(mode="json") for one, record in found.items()})
        return
    rows = [(one, record.by, f"{record.at:%Y-%m-%d}") for one, record in sorted(found.items())]
    console.print(table("id", "by", "on", rows=rows) if rows else "No gap was dismissed.")


EXPLORER = "explorer"
MOST = 500  # questions in a UTC day
USUAL_CALLS = 6
"""Of one question: it is written, answered, graded, compared, learnt from, and its concepts are named."""


def explore(
    count: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST, help="Maximum questions in a UTC day. [default: as many as the other limits allow]"
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="MONEY",
            help="Money in a UTC day, in the currency of your prices. This or --calls is needed.",
        ),
    ] = None,
    calls: Annotated[
        int | None, typer.Option(min=1, help="Calls of models in a UTC day. This or --budget is needed.")
    ] = None,
    pool: Pool = None,
    size: Size = None,
    agent: AnsweredBy = None,
    kind: AnsweredAs = None,
    submitter: Submitter = EXPLORER,
    out: Annotated[Path | None, typer.Option(metavar="FILE.md", help="Write the report as Markdown, too.")] = None,
    timeout: AnswerTimeout = ANSWER_WITHIN,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Have an agent answer what a pool lacks: questions from its gaps, within limits for a day.

    Answers are graded, and good ones become memories. No gap is asked about twice.

    Example: memshare concepts explore --pool physics --count 5 --calls 40
    """
    if budget is None and calls is None:
        raise BadInput("Give a limit: --calls N, or --budget MONEY.")
    most = count or (max(1, calls // USUAL_CALLS) if calls is not None else MOST)
    with opened("explore", pool, vectors=True) as found:
        from memshare_concepts.proposing import Proposer

        settings, name = found.client.settings, found.concepts.pool
        require_model(settings, "agents", "`memshare concepts explore`")
        if budget is not None:
            _require_prices(settings)
        answering = AnsweringAgent(name, agent_of(found.client, name, agent), kind, submitter)
        usage, before = UsageLog(found.redis), ExploredGaps(found.redis, name)

        def used() -> Used:
            return usage.used([("submitter", submitter)])[0]

        def full() -> str | None:
            asked = before.asked_on_day_of(time.time())
            return _why_full(used(), asked, most, calls, budget)

        asked = before.asked_on_day_of(time.time())
        within = [counted(calls, "call")] if calls is not None else []
        within += [f"{budget:g} in money"] if budget is not None else []
        left = 0 if full() else most - asked
        plan = f"Up to {counted(left, 'question')} to agent {answering.name!r} today, within {' and '.join(within)}."
        errors.print(plan)
        if left:
            require_consent("Ask them?", yes=yes)
        learnt: list[ExploredQuestion] = []
        try:
            with paid_chat(settings, "agents", submitter) as chat, stopping("What was asked goes on by itself."):
                proposer = Proposer(chat, found.client.memories, name)
                gaps = gaps_of(found, Decisions(found.redis, name), size) if left else []
                for gap in before.not_asked(gaps):
                    if full():
                        break
                    question = _question(found, proposer, gap, size)
                    before.add(Explored.of(gap, time.time()))
                    if question is not None:  # else the pool has it by now
                        task_id = answering.submit(found.client, question, LOW)
                        learnt.append(_learnt(found, gap, question, task_id, timeout))
                if not learnt:
                    why = full() or "there is no gap that was not asked about before"
                    errors.print(f"Nothing was asked: {why}.")
        finally:  # also of what was learnt before a fault, or Ctrl-C
            if out is not None and learnt:  # else the report of a run before stays
                write_markdown(out, name, learnt)
            if as_json:
                print_json({"pool": name, "asked": [vars(one) for one in learnt], "used": used()._asdict()})
            else:
                print_report(learnt, used())


def _why_full(used: Used, asked: int, count: int, calls: int | None, money: float | None) -> str | None:
    """Why no other question fits into the day; one takes `USUAL_CALLS`, and as much money as those of today did."""
    if asked >= count:
        return f"{asked} of {counted(count, 'question')} of today were asked"
    if money is not None and used.money + used.money / max(1, asked) > money:
        return f"{in_words(used.money)} of {money:g} in money of today are used"
    made = max(used.calls, USUAL_CALLS * asked)  # the last calls of a question come when it is answered
    if calls is not None and made + USUAL_CALLS > calls:
        return f"{made:,} of {counted(calls, 'call')} of today are used, and a question takes {USUAL_CALLS}"
    return None


def _require_prices(settings: Settings) -> None:
    """Raises `BadInput` where a model has no price, and so no money would ever be counted."""
    prices = load_prices(settings.prices)
    models = [settings.model_for("agents"), settings.model_for("scorer"), settings.model_for("trainer")]
    if without := sorted({model for model in models if prices.of(model) is None}):
        raise BadInput(
            f"--budget needs the prices of {', '.join(without)}, in the file that MEMSHARE_PRICES names. Or limit the"
            " calls with --calls N."
        )


def _question(found: OpenedConcepts, proposer: Proposer, gap: Gap, size: int | None) -> str | None:
    """The question to ask about a gap: asked in vain by somebody before, or written by the model."""
    from memshare_concepts.proposing import of_gap

    if gap.kind == "asked":
        return gap.names[0]
    target = of_gap(found.concepts.graph, gap, found.clusters(size))
    wanted = WantedQuestions(target=target, count=1, goal=HYPOTHESES if gap.kind == "unconnected" else None)
    with errors.status(f"Writing a question on {short(target.name, 60)} …"):
        written = proposer.propose(wanted, found.concepts.memories)
    return written[0].question if written else None


def _learnt(found: OpenedConcepts, gap: Gap, question: str, task_id: str, timeout: float) -> ExploredQuestion:
    """Wait for the outcome of a question."""
    goes_on = f"The task goes on by itself: `memshare trace {task_id}` shows what became of it."
    with stopping(goes_on), errors.status(f"{short(question, 80)} …"):
        try:
            journey = found.client.wait(task_id, timeout)
        except TryAgain as error:
            return ExploredQuestion(gap.reason, question, task_id, fault=str(error))
    score, outcome = outcome_of(journey)
    if journey.memory_id is None:
        return ExploredQuestion(gap.reason, question, task_id, journey.answer, score, outcome)
    OpenQuestions(found.redis, found.concepts.pool).drop([gap] if gap.kind == "asked" else [])
    return ExploredQuestion(gap.reason, question, task_id, journey.answer, score, outcome, journey.memory_id)


@dataclass(frozen=True)
class ExploredQuestion:
    """Outcome of a question."""

    why: str
    question: str
    task_id: str
    answer: str | None = None
    score: str = "–"
    outcome: str = "unfinished"
    memory_id: UUID | None = None
    fault: str | None = None


def print_report(learnt: Sequence[ExploredQuestion], used: Used) -> None:
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
        f"Asked {len(learnt)}, of which {counted(stored, 'is', 'are')} in the pool. Used so far today:"
        f" {counted(used.calls, 'call')}, {counted(used.tokens, 'token')}, {in_words(used.money)} in money."
    )


def write_markdown(file: Path, pool: str, learnt: Sequence[ExploredQuestion]) -> None:
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
