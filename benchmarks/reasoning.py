"""The reasoning agent in the running system, on a served model that invents; or `--models openai:NAME`.

`python -m benchmarks.reasoning` asks a model of the tests on loopback, which finds sentences by their words and infers
nothing: that says what the machinery lets through, and nothing of a real model.

Three experiments of `memshare evaluate`, on the questions that come with them: complex questions by the engine and by
one call; facts that are told, changed and deleted, asked for in other words; true and false statements side by side,
which the system finds to contradict each other and the agent's own verdicts tell apart.

Then the engine alone answers the complex questions from a pool that has the passages of their documents, once as it is,
and once without the recall before the first plan: is more right, in fewer calls and steps? `--first-recall` runs this
alone, and `--model NAME=URL` asks a model of a server that speaks OpenAI's protocol.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer

from benchmarks.own_pool import OwnPool, own_pool
from benchmarks.report import print_figures, progress
from benchmarks.support.counts import CountedChat, Tally
from memshare.evaluation.data import DataItem
from memshare.evaluation.evaluate import evaluate
from memshare.evaluation.experiment import TOWN
from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.experiments.knowledge import passages, says
from memshare.evaluation.request import request_of
from memshare.evaluation.result import ALL, ExperimentResult, ResultRow
from memshare.files.json_lines import read_lines, read_object
from memshare_agents.reasoning.engine import OPERATORS, Engine
from memshare_agents.reasoning.knowledge import Knowledge
from memshare_agents.reasoning.sources.build import open_sources
from memshare_agents.roster import load_roster
from memshare_broker.errors import MemshareError
from memshare_broker.settings import Settings, load_settings
from memshare_llm.chat import Chat
from memshare_llm.models import open_chat
from memshare_memory.curate.requests import NewMemory
from tests.support.inventing_model.chat import served

COMPLEX = "complex"
NAMES = (COMPLEX, "facts", "contradictions")


def main(
    models: Annotated[
        str | None, typer.Option(help="Models of the agents, with commas. [default: one that invents, on loopback]")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME=URL", help="A model of a server on OpenAI's protocol, for all calls.")
    ] = None,
    first_recall: Annotated[
        bool, typer.Option("--first-recall", help="With and without the first recall alone.")
    ] = False,
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Questions for `complex`, such as ComplexWebQuestions as it comes. [default: those here]"),
    ] = None,
    items: Annotated[int | None, typer.Option(min=1, help="Questions of each experiment at most.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to keep the experiments in; they go on from there.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of a table.")] = False,
) -> None:
    """Run the three experiments, and print the shares of answers that say what they should."""
    if model is not None:
        name, _, url = model.partition("=")
        os.environ |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": os.environ.get("OPENAI_API_KEY", "none")}
        models = os.environ["MEMSHARE_MODEL"] = f"openai:{name}"
    if models is None:
        os.environ |= served()  # the workers read it there
    settings = load_settings()
    using = tuple(models.split(",")) if models else (settings.model_for("agents"),)
    with tempfile.TemporaryDirectory(prefix="memshare-bench-") as name:
        folder = out or Path(name)
        figures: dict[str, Mapping[str, object]] = {}
        notes: list[str] = []
        for experiment in () if first_recall else NAMES:
            request = request_of(
                EXPERIMENTS[experiment],
                (data or []) if experiment == COMPLEX else [],
                settings,
                7,
                items,
                models=using,
                out=folder,
                agent="reasoning",
            )
            result = evaluate(request, settings, lambda _what, _count: None)
            figures |= figures_of(result)
            notes += result.notes
    chat = open_chat(using[0], timeout=settings.model_timeout, connections=1)
    figures |= first_recalls(chat, settings, questions(items))
    print_figures(
        "The reasoning agent in the running system",
        figures,
        as_json=as_json,
        notes=[f"Models: {models or 'one of the tests, which infers nothing'}.", *notes],
    )


def figures_of(result: ExperimentResult) -> dict[str, Mapping[str, object]]:
    """A row for each condition, phase and model: score, and what was counted."""
    return {_name(result, row): _of(row) for row in result.rows if row.kind == ALL}


def _name(result: ExperimentResult, row: ResultRow) -> str:
    model = row.model if len(result.models) > 1 else ""
    return ", ".join(filter(None, (result.experiment, row.condition, row.phase, model)))


def _of(row: ResultRow) -> Mapping[str, object]:
    score = {"score": row.score and round(row.score.mean, 1), "not verified": row.unverified}
    return score | {name: round(mark.mean, 3) for name, mark in row.marks.items()}


POOL = "town"


def questions(most: int | None) -> list[DataItem]:
    """The complex questions that come with memshare."""
    lines = [read_object(text) for _, text in read_lines(TOWN / "questions.jsonl")]
    return [
        DataItem(id=str(number), agent="reasoning", kind=None, prompt=str(line["prompt"]), answer=str(line["answer"]))
        for number, line in enumerate(lines[:most])
    ]


def first_recalls(chat: Chat, settings: Settings, asked: Sequence[DataItem]) -> dict[str, Mapping[str, object]]:
    """A row with the first recall and one without it: the engine's answers from a pool of the documents' passages."""
    with own_pool() as pool:
        pool.curate.add([NewMemory(pool=POOL, answer=one, new_pool=True) for one in passages([TOWN / "documents"])])
        return {
            f"engine on the pool, {name}": _answered(chat, settings, pool, asked, recalls_first)
            for name, recalls_first in (("memories before the first plan", True), ("none before it", False))
        }


def _answered(
    chat: Chat, settings: Settings, pool: OwnPool, asked: Sequence[DataItem], recalls_first: bool
) -> Mapping[str, object]:
    """Shares of the questions, and calls, steps, tokens and seconds of each in the mean."""
    agent = load_roster(None)["reasoning"]
    knowledge = Knowledge(pool.door, POOL, agent.memories or 0, agent.recall)  # type: ignore[arg-type]
    sources = open_sources(settings.model_copy(update={"documents": None, "searxng_url": None}), pool.door)  # type: ignore[arg-type]
    tally, began = Tally(), time.monotonic()
    counted = CountedChat(chat, tally)
    engine = Engine(OPERATORS, agent.limits, lambda _: counted, knowledge, sources, recalls_first=recalls_first)
    marks, right, verified, failed, steps, tokens = says(right=lambda item: item.answer), 0, 0, 0, [], []
    for item in progress(asked, "Answering"):
        try:
            run = engine.run(item.prompt or "", agent.instructions)
        except MemshareError:
            failed += 1  # its model said nothing that can be used
            continue
        verified += run.verified
        right += bool(run.verified and run.proposal and marks(item, run.proposal.answer, ())["right"])
        steps.append(len(run.steps))
        tokens.append(run.usage.prompt_tokens + run.usage.completion_tokens)
    return {
        "right": round(right / len(asked), 3),
        "verified": round(verified / len(asked), 3),
        "failed": failed,
        "calls": round(sum(of["calls"] for of in tally.counts.values()) / len(asked), 2),
        "steps": round(fmean(steps or [0]), 2),
        "tokens": round(fmean(tokens or [0])),
        "seconds": round((time.monotonic() - began) / len(asked), 2),
    }


if __name__ == "__main__":
    typer.run(main)
