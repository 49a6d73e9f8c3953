"""`memshare concepts explore`: agents answer questions that a pool lacks, within limits for a day."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memshare.cli.concepts.answering_agent import AnsweringAgent, outcome_of, stopping
from memshare.cli.concepts.ask import HYPOTHESES
from memshare.cli.concepts.day_budget import DayBudget, require_prices
from memshare.cli.concepts.explore_report import Learnt, print_report, write_markdown
from memshare.cli.concepts.gaps import gaps_of
from memshare.cli.concepts.opening import Opened, Size, opened
from memshare.cli.options import Json, Pool
from memshare.client.paid_chat import paid_chat
from memshare.terminal.console import errors, print_json, short
from memshare_broker.errors import BadInput, TryAgain
from memshare_llm.limits.usage import UsageLog
from memshare_llm.no_model import require_model

if TYPE_CHECKING:
    from memshare_concepts.asking.explored import ExploredGaps
    from memshare_concepts.asking.proposing import Proposer
    from memshare_concepts.gap import Gap

EXPLORER = "explorer"


def explore(
    count: Annotated[int, typer.Option(min=1, max=500, help="Maximum questions in a UTC day.")],
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
    agent: Annotated[str | None, typer.Option(help="The agent that answers, where several share the pool.")] = None,
    kind: Annotated[str | None, typer.Option(help="The kind of task, where the agent has kinds.")] = None,
    submitter: Annotated[str, typer.Option(help="Name recorded as the submitter; its use today counts.")] = EXPLORER,
    out: Annotated[Path | None, typer.Option(metavar="FILE.md", help="Write the report as Markdown, too.")] = None,
    timeout: Annotated[float, typer.Option(min=0, help="Seconds to wait for each answer.")] = 300,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Have an agent answer what a pool lacks: questions from its gaps, within limits for a day.

    Answers are graded, and good ones become memories. No gap is asked about twice.
    Nothing does this by itself: run it once a day, such as from cron with --yes.

    Example: memshare concepts explore --pool physics --count 5 --calls 40
    """
    if budget is None and calls is None:
        raise BadInput("Give a limit: --calls N, or --budget MONEY.")
    with opened("explore", pool, vectors=True) as found:
        from memshare_concepts.asking.explored import Explored, ExploredGaps
        from memshare_concepts.asking.proposing import Proposer

        settings, name = found.client.settings, found.concepts.pool
        require_model(settings, "agents", "`memshare concepts explore`")
        if budget is not None:
            require_prices(settings)
        answering = AnsweringAgent.of(found.client, name, agent, kind, submitter)
        limits = DayBudget(UsageLog(found.redis), submitter, calls, budget)
        before = ExploredGaps(found.redis, name)
        asked = before.asked_on_day_of(time.time())
        left = limits.questions_left(asked, count - asked)
        plan = f"Up to {left} questions to agent {answering.name!r} today, within {limits.in_words()}."
        errors.print(plan, soft_wrap=True)
        if left:
            _require_consent(yes=yes)
        learnt: list[Learnt] = []
        try:
            with paid_chat(settings, "agents", submitter) as chat, stopping("What was asked goes on by itself."):
                proposer = Proposer(chat, found.client.memories, name)
                for gap in _not_explored(found, before, size) if left else []:
                    asked = before.asked_on_day_of(time.time())
                    if not limits.questions_left(asked, count - asked):
                        break
                    question = _question(found, proposer, gap)
                    before.add(Explored.of(gap, time.time()))
                    if question is not None:  # else the pool has it by now
                        learnt.append(_learnt(found, gap, question, answering.submit(found.client, question), timeout))
                if not learnt:
                    why = _why_none(limits, before.asked_on_day_of(time.time()), count)
                    errors.print(f"Nothing was asked: {why}.", soft_wrap=True)
        finally:  # also of what was learnt before a fault, or Ctrl-C
            if out is not None and learnt:  # else the report of a run before stays
                write_markdown(out, name, learnt)
            if as_json:
                print_json({"pool": name, "asked": [vars(one) for one in learnt], "used": limits.used()._asdict()})
            else:
                print_report(learnt, limits.used())


def _require_consent(*, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise BadInput("Nobody is there to be asked, so nothing was done. Give --yes.")
    if not typer.confirm("Ask them?", err=True):
        errors.print("Nothing was done.")
        raise typer.Exit(1)


def _why_none(limits: DayBudget, asked: int, count: int) -> str:
    if asked >= count:
        return f"{asked} of {count} questions were asked today"
    if not limits.questions_left(asked, count - asked):
        return limits.why_full(asked)
    return "there is no gap that was not asked about before"


def _not_explored(found: Opened, before: ExploredGaps, size: int | None) -> list[Gap]:
    from memshare_concepts.decisions import Decisions

    return before.not_asked(gaps_of(found, Decisions(found.redis, found.concepts.pool), size))


def _question(found: Opened, proposer: Proposer, gap: Gap) -> str | None:
    """What to ask about a gap: the question that somebody asked in vain, or one that the model writes."""
    from memshare_concepts.asking.round import Wanted
    from memshare_concepts.asking.target import of_gap

    if gap.kind == "asked":
        return gap.names[0]
    target = of_gap(found.concepts.graph, gap)
    wanted = Wanted(target=target, count=1, goal=HYPOTHESES if gap.kind == "unconnected" else None)
    with errors.status(f"Writing a question on {short(target.name, 60)} …"):
        written = proposer.propose(wanted, [found.concepts.memories[one] for one in target.examples])
    return written[0].question if written else None


def _learnt(found: Opened, gap: Gap, question: str, task_id: str, timeout: float) -> Learnt:
    """What came of a question."""
    from memshare_concepts.gaps.open_questions import OpenQuestions

    with errors.status(f"{short(question, 80)} …"):
        try:
            journey = found.client.wait(task_id, timeout)
        except TryAgain as error:
            return Learnt(gap.reason, question, task_id, fault=str(error))
    score, outcome = outcome_of(journey)
    if journey.memory_id is None:
        return Learnt(gap.reason, question, task_id, journey.answer, score, outcome)
    OpenQuestions(found.redis, found.concepts.pool).drop([gap] if gap.kind == "asked" else [])
    return Learnt(gap.reason, question, task_id, journey.answer, score, outcome, journey.memory_id)
