"""Runs one experiment in a deployment of its own, from its data to its table."""

from __future__ import annotations

import contextlib
import json
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version

from broker.connection import connect
from broker.metrics import METRICS
from broker.settings import Settings
from llm.prices import load_prices
from memshare.evaluation.data import Item, Split
from memshare.evaluation.deployment import deployment
from memshare.evaluation.folder import Folder, Preparation, Prepared, Run, read_preparation
from memshare.evaluation.lab import PEOPLE, Lab, Measured
from memshare.evaluation.queues import Pair, Queues
from memshare.evaluation.real_queues import RealQueues
from memshare.evaluation.request import Request, plan_of, roster_of
from memshare.evaluation.result import Result, rows_of
from memshare.evaluation.tables import markdown
from memshare.files import new_file

PREPARED = "prepared.json"
OFFLINE_NOTE = (
    "The offline model is no language model: it copies the form of the examples in its prompt and grades by what can "
    "be counted. These figures show how things flow, not how good they get."
)
BUNDLED = "all-MiniLM-L6-v2"
LIBRARIES = ("memshare", "torch", "sentence-transformers", "qdrant-edge-py", "bert-score", "scipy")

Progress = Callable[[str, int], None]
"""Told what is being done, and how many tasks more have ended."""


def evaluate(request: Request, settings: Settings, progress: Progress) -> Result:
    """Run the experiment, or go on with it; returns at once what a finished one found."""
    folder = Folder(request.out / request.experiment.name)
    plan = plan_of(request, settings)
    folder.begin(plan)
    if (found := folder.result()) is not None:
        return found
    started = time.time()
    with (
        deployment(request, settings, folder.path) as (client, supervisor),
        contextlib.closing(connect(client.settings.redis)) as own,
    ):
        real = RealQueues(client, own, lambda count: progress("Asking", count), supervisor.revive)
        known = read_preparation(request.out / PREPARED, plan)
        lab, prepared, dropped = run(request, real, settings, known)
        with new_file(request.out / PREPARED) as out:
            out.write(Preparation(plan=plan, items=prepared).model_dump_json(indent=1))
        paid = {str(name): float(amount) for name, amount in own.hgetall(METRICS).items()}
    if failed := [one.error for one in lab.measured if one.error]:
        lab.notes.append(f"{len(failed)} of {len(lab.measured)} tasks have no score, such as: {failed[0]}")
    progress("Comparing with the standard answers", 0)
    measured = _compared(lab.measured, settings)
    result = _result(request, settings, lab, measured, dropped)
    from memshare.evaluation.charts import draw  # matplotlib takes a second to import

    draw(result, folder.path)
    folder.write(measured, result, _bill(paid, started, settings), markdown(result))
    return result


def run(
    request: Request, queues: Queues, settings: Settings, known: dict[str, Prepared]
) -> tuple[Lab, dict[str, Prepared], int]:
    """Prepare the items, drop those that got the same question, and do the experiment."""
    prepared = known or _prepare(request, queues)
    asked: set[str] = set()
    parts: list[tuple[Item, ...]] = []
    for part in (request.split.test, request.split.queries, request.split.seeds):
        fresh = []
        for item in part:
            prompt = prepared[item.id].prompt
            if prompt and prompt not in asked:
                fresh.append(item.model_copy(update={"prompt": prompt}))
                asked.add(prompt)
        parts.append(tuple(fresh))
    whole = Split(seeds=parts[2], queries=parts[1], test=parts[0])
    scores = {name: one.score for name, one in prepared.items() if one.score is not None}
    lab = Lab(queues, whole, scores, roster_of(request, settings), request.models)
    request.experiment.run(lab)
    return lab, prepared, len(request.split.all) - len(whole.all)


def _prepare(request: Request, queues: Queues) -> dict[str, Prepared]:
    """Ask for the questions that are not there, and grade the standard answers that may become seeds."""
    asked = [item for item in request.split.all if item.prompt is None]
    replies = queues.questions("question", asked, request.models[0])
    prepared = {
        item.id: Prepared(prompt=reply.prompt, score=reply.score) for item, reply in zip(asked, replies, strict=True)
    }
    graded = [item for item in request.split.seeds if item.prompt is not None]
    grades = queues.grade("seed", [Pair(item, item.answer, None, PEOPLE) for item in graded])
    for item, grade in zip(graded, grades, strict=True):
        prepared[item.id] = Prepared(prompt=item.prompt or "", score=grade.score)
    for item in request.split.all:
        prepared.setdefault(item.id, Prepared(prompt=item.prompt or "", score=None))
    return prepared


def _compared(measured: Sequence[Measured], settings: Settings) -> list[Measured]:
    # torch and transformers take seconds to import.
    from memory_service.sentence_encoder import bundled_folder
    from memshare.evaluation.likeness import f1_scores

    pairs = list(dict.fromkeys((one.answer, one.reference) for one in measured))
    found = f1_scores(
        [pair[0] for pair in pairs], [pair[1] for pair in pairs], _reader(settings) or bundled_folder(), settings.device
    )
    by_pair = dict(zip(pairs, found, strict=True))
    return [
        one if one.score is None else one.model_copy(update={"f1": by_pair[one.answer, one.reference]})
        for one in measured
    ]


def _reader(settings: Settings) -> str | None:
    """The encoder whose token vectors compare answers; None for the bundled one, also where OpenAI's has no tokens."""
    return None if (settings.encoder or "openai:").startswith("openai:") else settings.encoder


def _result(
    request: Request,
    settings: Settings,
    lab: Lab,
    measured: Sequence[Measured],
    dropped: int,
) -> Result:
    experiment, plan = request.experiment, plan_of(request, settings)
    offline = "offline" in (*request.models, plan.scorer)
    return Result(
        experiment=experiment.name,
        title=experiment.title,
        question=experiment.question,
        method=experiment.method,
        note=OFFLINE_NOTE if offline else "",
        notes=tuple(lab.notes),
        baseline=experiment.baseline,
        by_phase=experiment.by_phase,
        models=request.models,
        scorer=plan.scorer,
        data=tuple(request.files),
        same_question=dropped,
        parts={name: len(getattr(lab.split, name)) for name in Split._fields},
        seed=request.seed,
        settings={
            "agents": ", ".join(request.models),
            "scorer": plan.scorer,
            "trainer": plan.trainer,
            "votes": str(plan.votes),
            "encoder": plan.encoder,
            "BERTScore by": f"the last layer of {plan.encoder}"
            if not plan.encoder.startswith("openai:")
            else "bundled",
        },
        versions={"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}},
        rows=rows_of(measured, experiment.baseline),
    )


def _bill(paid: dict[str, float], started: float, settings: Settings) -> Run:
    """What was paid for, as the experiment's Redis has counted it."""
    calls: dict[str, int] = {}
    tokens: dict[str, dict[str, int]] = {}
    money = 0.0
    for field, amount in paid.items():
        name, labels = json.loads(field)
        if name == "memshare_model_calls_total":
            calls[labels["model"]] = calls.get(labels["model"], 0) + round(amount)
        elif name == "memshare_model_tokens_total":
            of_model = tokens.setdefault(labels["model"], {})
            of_model[labels["type"]] = of_model.get(labels["type"], 0) + round(amount)
        elif name == "memshare_model_money_total":
            money += amount
    currency = load_prices(settings.prices).currency
    return Run(
        started=started,
        seconds=round(time.time() - started, 1),
        calls=calls,
        tokens=tokens,
        money=money if currency else None,
        currency=currency,
    )
