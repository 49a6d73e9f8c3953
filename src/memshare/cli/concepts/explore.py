"""`memshare concepts explore`: agents answer questions that a pool lacks, within limits for a day."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from memshare.cli.concepts.answering_agent import AnsweringAgent, outcome_of
from memshare.cli.concepts.ask import HYPOTHESES
from memshare.cli.concepts.gaps import gaps_of
from memshare.cli.concepts.open_concepts import OpenedConcepts, Size, opened
from memshare.cli.options import ANSWER_WITHIN, AnsweredAs, AnsweredBy, AnswerTimeout, Json, Pool, Submitter, Yes
from memshare.client.answering import paid_chat
from memshare.client.client import LOW
from memshare.client.pools import agent_of
from memshare.files.new_file import new_file
from memshare.terminal.console import console, errors, print_json, require_consent, short, stopping, table
from memshare.terminal.ids import short_id
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
        within = [f"{calls:,} calls"] if calls is not None else []
        within += [f"{budget:g} in money"] if budget is not None else []
        left = 0 if full() else most - asked
        plan = f"Up to {left} questions to agent {answering.name!r} today, within {' and '.join(within)}."
        errors.print(plan)
        if left:
            require_consent("Ask them?", yes=yes)
        learnt: list[ExploredQuestion] = []
        try:
            with paid_chat(settings, "agents", submitter) as chat, stopping("What was asked goes on by itself."):
                proposer = Proposer(chat, found.client.memories, name)
                for gap in _not_explored(found, before, size) if left else []:
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
        return f"{asked} of {count} questions were asked today"
    if money is not None and used.money + used.money / max(1, asked) > money:
        return f"{in_words(used.money)} of {money:g} in money of today are used"
    made = max(used.calls, USUAL_CALLS * asked)  # the last calls of a question come when it is answered
    if calls is not None and made + USUAL_CALLS > calls:
        return f"{made:,} of {calls:,} calls of today are used, and a question takes {USUAL_CALLS}"
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


def _not_explored(found: OpenedConcepts, before: ExploredGaps, size: int | None) -> list[Gap]:

    return before.not_asked(gaps_of(found, Decisions(found.redis, found.concepts.pool), size))


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

    with errors.status(f"{short(question, 80)} …"):
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
        f"Asked {len(learnt)}, of which {stored} are in the pool. Used so far today:"
        f" {used.calls:,} calls, {used.tokens:,} tokens, {in_words(used.money)} in money."
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
