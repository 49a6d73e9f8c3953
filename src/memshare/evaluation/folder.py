"""The folder of one experiment: what it was begun with, what it found, and what that cost."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from memshare.evaluation.data import DataItem
from memshare.evaluation.lab import Measured
from memshare.evaluation.result import ExperimentResult
from memshare.files.new_file import new_file
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_broker.wire.forms import readable
from memshare_broker.wire.messages import Message
from memshare_llm.limits.budget import load_prices

PREPARED = "prepared.json"
M = TypeVar("M", bound=Message)


class ExperimentPlan(Message):
    """Everything that decides an experiment's figures. A folder holds one plan."""

    experiment: str
    items: tuple[str, ...]
    models: tuple[str, ...]
    scorer: str
    trainer: str
    votes: int
    encoder: str
    agents: dict[str, str]
    """A digest of each agent's file and its rubric's version."""
    version: str
    seed: int
    learning: bool = True
    judge: str | None = None
    documents: str | None = None


class Prepared(Message):
    """An item as prepared before an experiment: its question, and the score of its standard answer.

    `written` is the item with what a model wrote of it.
    """

    prompt: str
    score: float | None
    written: DataItem | None = None


class Preparation(Message):
    """The items of a data set with their questions, made once for all experiments beside each other."""

    plan: ExperimentPlan
    items: dict[str, Prepared]


class RunCost(Message):
    """Cost of an experiment: start (Unix time) and seconds of its last run; calls, tokens and money of all runs."""

    started: float
    seconds: float
    calls: dict[str, int]
    tokens: dict[str, dict[str, int]]
    money: float | None
    currency: str | None


class Folder:
    """Reads and writes the files of `path`; each is there whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, plan: ExperimentPlan) -> None:
        """Note what the folder is for; raises `BadInput` where it is for something else."""
        self.path.mkdir(parents=True, exist_ok=True)
        file = self.path / "plan.json"
        if not file.exists():
            with new_file(file) as out:
                out.write(plan.model_dump_json(indent=1))
            return
        there = _read(file, ExperimentPlan)
        differs = [name for name in ExperimentPlan.model_fields if getattr(there, name) != getattr(plan, name)]
        if differs:
            raise BadInput(
                f"{self.path} holds a run with other {' and '.join(differs)}. "
                "Give another --out, or remove that folder."
            )

    def result(self) -> ExperimentResult | None:
        """The result; None until the experiment has ended."""
        file = self.path / "result.json"
        return _read(file, ExperimentResult) if file.exists() else None

    def run(self) -> RunCost | None:
        """The cost; None where it was not noted."""
        file = self.path / "run.json"
        return _read(file, RunCost) if file.exists() else None

    def write(self, measured: Sequence[Measured], result: ExperimentResult, run: RunCost, table: str) -> None:
        """Write what was found; the result comes last, so that it stands for all."""
        with new_file(self.path / "items.jsonl") as out:
            out.writelines(one.model_dump_json() + "\n" for one in measured)
        for name, text in (("table.md", table), ("run.json", run.model_dump_json(indent=1))):
            with new_file(self.path / name) as out:
                out.write(text)
        with new_file(self.path / "result.json") as out:
            out.write(result.model_dump_json(indent=1))


def read_preparation(out: Path, plan: ExperimentPlan) -> dict[str, Prepared]:
    """Items prepared by this experiment, or by another experiment on the same data beside it."""
    for file in (out / plan.experiment / PREPARED, out / PREPARED):
        if file.exists():
            there = _read(file, Preparation)
            if there.plan.model_copy(update={"experiment": plan.experiment}) == plan:
                return there.items
    return {}


def write_preparation(out: Path, plan: ExperimentPlan, items: dict[str, Prepared]) -> None:
    """Keep it for this experiment, and for the next ones."""
    text = Preparation(plan=plan, items=items).model_dump_json(indent=1)
    for file in (out / plan.experiment / PREPARED, out / PREPARED):
        with new_file(file) as aside:
            aside.write(text)


def _read(file: Path, form: type[M]) -> M:
    try:
        return form.model_validate_json(file.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise BadInput(readable(error, f"{file} cannot be read")) from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{file} cannot be read: {error}.") from error


def bill(paid: Mapping[str, float], started: float, settings: Settings) -> RunCost:
    """The calls, tokens and money among the metrics that were `paid`, by their fields in Redis."""
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
    return RunCost(
        started=started,
        seconds=round(time.time() - started, 1),
        calls=calls,
        tokens=tokens,
        money=money if currency else None,
        currency=currency,
    )
