"""`memshare learn` and `memshare seed`: begin a pool with what is known to be good."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer

from memshare.cli.options import AgentOfLines, Json, KindOfLines, Submitter
from memshare.client.client import Client
from memshare.client.pools import is_graded_by_programs, require_agent_model, require_scorer_model
from memshare.learn import bootstrap as learning
from memshare.learn.bootstrap import StandardAnswer, read_standard_answers
from memshare.terminal.console import console, errors, print_json, progress_bar, stopping, table
from memshare_broker.delivery.journey_records import OutcomeRecord
from memshare_broker.errors import BadInput
from memshare_scorer.rubric import MEAN_OF_SEEDS, find_rubric, threshold_for

SHOWN_ERRORS = 5


def learn(
    file: Annotated[Path, typer.Argument(metavar="ANSWERS.jsonl", help="JSON lines, {answer, agent, kind}; or .csv.")],
    agent: AgentOfLines = None,
    kind: KindOfLines = None,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Questions to ask for each answer.")] = 2,
    submitter: Submitter = "anonymous",
    as_json: Json = False,
) -> None:
    """Begin a pool with good answers alone: for each its agent is asked for a question that it could answer.

    Everything is graded: a question with its standard answer becomes a seed.
    The question goes to all agents of the pool that have the kind, too.
    Run it again to go on: what is done is not paid for again.

    Example: memshare learn limericks.jsonl --agent poem --kind limerick
    """
    client = Client()
    lines = read_standard_answers(client, file, agent, kind, with_prompts=False)
    require_agent_model(client, {line.agent for line in lines}, "`memshare learn`")
    _require_grading(client, lines, "`memshare learn`")
    with _bar(f"memshare learn {file}") as progress:
        learnt = learning.learn(client, lines, rounds, submitter, progress)
    _finish(figures(client, lines, learnt), as_json)


def seed(
    file: Annotated[
        Path, typer.Argument(metavar="PAIRS.jsonl", help="JSON lines, {prompt, answer, agent, kind} each, or a .csv.")
    ],
    agent: AgentOfLines = None,
    kind: KindOfLines = None,
    submitter: Submitter = "anonymous",
    as_json: Json = False,
) -> None:
    """Begin a pool with good pairs: each is graded, and becomes a seed where it is good enough.

    `memshare memories import` takes pairs as they are, without grading.
    Run it again to go on: what is done is not paid for again.

    Example: memshare seed riddles.jsonl --agent logic --kind riddle
    """
    client = Client()
    lines = read_standard_answers(client, file, agent, kind, with_prompts=True)
    _require_grading(client, lines, "`memshare seed`")
    with _bar(f"memshare seed {file}") as progress:
        learnt = learning.seed(client, lines, submitter, progress)
    _finish(figures(client, lines, learnt), as_json)


def _require_grading(client: Client, lines: Sequence[StandardAnswer], command: str) -> None:
    """Raise `BadInput` where a line could not be graded, as the scorer has no model and programs do not do all."""
    cards = client.agents()
    if not all(is_graded_by_programs(client, cards[line.agent].rubric, line.kind) for line in lines):
        require_scorer_model(client, command)


@contextmanager
def _bar(command: str) -> Iterator[learning.Progress]:
    go_on = f"What is queued goes on by itself. Run `{command}` again, with the same options, to go on:"
    with stopping(f"{go_on} what is done is not paid for again."), progress_bar("") as bar:
        yield lambda what, ended, total: bar(description=what[:1].upper() + what[1:], completed=ended, total=total)


def _finish(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        _print(found)
    if found["dead"]:
        errors.print(f"{len(found['dead'])} were given up, such as:", style="red")
        for error in list(dict.fromkeys(found["dead"]))[:SHOWN_ERRORS]:
            errors.print(error)
        errors.print("`memshare dead list` shows them; after `memshare dead retry --all`, the same command goes on.")
        raise typer.Exit(1)


def _print(found: dict[str, Any]) -> None:
    rows = [
        ("lines", found["lines"]),
        ("questions", found["questions"]),
        ("seeds accepted", _of(found["accepted"])),
        ("seeds rejected", _of(found["rejected"])),
        ("seeds not graded", found["not_graded"]),
        ("answers graded", _of(found["answers"])),
        ("answers accepted", found["answers_accepted"]),
        ("answers not verified", found["answers_unverified"]),
        ("done before", found["before"]),
        ("dead letters", len(found["dead"])),
    ]
    console.print(table("what", "how many", rows=rows))
    limits = [
        (
            one["pool"],
            one["rubric"],
            "not known here" if one["threshold"] is None else f"{one['threshold']:.1f}",
            "mean of its seeds" if one["mean_of_seeds"] else "of the rubric",
        )
        for one in found["thresholds"]
    ]
    console.print(table("pool", "rubric", "threshold", "which is", rows=limits))


def _of(group: dict[str, Any]) -> str:
    return f"{group['pairs']}, mean score {group['mean_score']:.1f}" if group["pairs"] else "0"


NOT_VERIFIED = "not verified"  # what is known for ever of an answer that its agent rejected
NOT_GRADED = "not graded"  # and of a seed that no program knows the right answer to


def figures(client: Client, lines: Sequence[StandardAnswer], learnt: learning.Bootstrapped) -> dict[str, Any]:
    """Count and average; a score that was given before a pair became a dead letter counts.

    `before` counts the questions and answers that had ended before this run, and were not paid for again. An answer
    that its agent could not verify is neither graded nor accepted: `answers_unverified` counts those.
    """
    graded = [one for one in learnt.answers if one.total is not None]
    return {
        "lines": len(lines),
        "questions": sum(one.question is not None for one in learnt.seeds),
        "accepted": _group(one for one in learnt.seeds if one.accepted),
        "rejected": _group(one for one in learnt.seeds if one.accepted is False),
        "not_graded": sum(one.outcome == NOT_GRADED for one in learnt.seeds),
        "answers": _group(graded),
        "answers_accepted": sum(bool(one.accepted) for one in graded),
        "answers_unverified": sum(one.outcome == NOT_VERIFIED for one in learnt.answers),
        "before": learnt.before,
        "thresholds": _thresholds(client, lines),
        "dead": [one.error or "" for one in (*learnt.seeds, *learnt.answers) if one.dead],
    }


def _group(pairs: Iterable[OutcomeRecord]) -> dict[str, Any]:
    scores = [one.total for one in pairs if one.total is not None]
    return {"pairs": len(scores), "mean_score": fmean(scores) if scores else None}


def _thresholds(client: Client, lines: Sequence[StandardAnswer]) -> list[dict[str, Any]]:
    """The score from which a pair of each pool is remembered now, by its rubric; None without the rubric here."""
    cards = client.agents()
    found: list[dict[str, Any]] = []
    for pool, name in sorted({(card.pool, card.rubric or "?") for card in (cards[line.agent] for line in lines)}):
        threshold, of_seeds = None, False
        with suppress(BadInput):  # the agent is of another machine, and its rubric, too
            rubric = find_rubric(name, client.settings.agents_dir)
            threshold = threshold_for(rubric, pool, client.seeds_mean)
            of_seeds = rubric.threshold == MEAN_OF_SEEDS and client.seeds_mean(pool) is not None
        found.append({"pool": pool, "rubric": name, "threshold": threshold, "mean_of_seeds": of_seeds})
    return found
