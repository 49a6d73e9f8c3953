"""Does the retriever learn what helps? `python -m benchmarks.forms`: made tasks, in which only the form makes it right.

Four honest submitters bring graded memories into `memshare up` with default settings. P@3, the share of right ones
among the three memories that the door recalls, is measured on topics that are in no memory, after so many memories; a
second pool, in which the topic makes an example right, gets no lessons. The encoder alone is a pool with the same
memories, imported as they are. Labels come from somebody who knows the form, one in twenty of them wrong. Consolidation
comes when it is due. Figures are medians over the orders.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.forms.tasks import Task, memories, questions, unseen_tasks
from benchmarks.report import Aim, print_figures
from benchmarks.support.counts import calls_and_tokens
from benchmarks.support.deployment import SHOWN, Deployment
from benchmarks.support.orders import ORDERS, Figures, Say, middle, teller
from benchmarks.support.replies import Pair
from benchmarks.support.up import deployed

SIZES = (50, 100, 200, 320, 450)  # memories
UNSEEN = 240  # tasks
PEOPLE = ("ann", "ben", "cem", "dee")
POOL, ENCODER, UNTOUCHED = "forms", "encoder", "questions"
AIMS = (
    Aim("p_at_3_at_200", 0.5, "of the memories shown"),
    Aim("proven_share_at_200", 0.9, "of the memories"),
)


def main(
    order: Annotated[int | None, typer.Option(help="One order alone. [default: three]")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of tables.")] = False,
) -> None:
    """Measure, and print the medians over the orders."""
    orders = ORDERS if order is None else (order,)
    with tempfile.TemporaryDirectory(prefix="memshare-exports-") as exports:
        runs = []
        for number in orders:
            with deployed(POOL, exports=Path(exports)) as deployment:
                runs.append(measure(deployment, number, teller(f"order {number}")))
    figures = {"orders": len(runs), **middle(runs)}
    if as_json:
        figures["runs"] = runs
    print_figures("Made tasks, with default settings", figures, as_json=as_json, aims=AIMS)


def measure(at: Deployment, order: int, say: Say) -> Figures:
    """The figures of one order of the memories."""
    made, unseen = memories(SIZES[-1], order), unseen_tasks(UNSEEN, order + 1_000)
    parts = {size: made[before:size] for before, size in zip((0, *SIZES), SIZES, strict=False)}
    remembered, asked = questions(order)
    right: dict[str | None, str] = {task.prompt: task.form for task in (*made, *unseen)}
    right |= {task.prompt: task.topic for task in (*remembered, *asked)}
    people = random.Random(order)

    def p_at_3(pool: str, tasks: Sequence[Task]) -> float:
        """The share of right ones among the three memories that are shown for each task."""
        shown = [
            right[memory.prompt] == right[task.prompt] for task in tasks for memory in at.recall(task.prompt, pool)
        ]
        return sum(shown) / SHOWN / len(tasks)

    say("measuring the encoder alone")
    alone = {}
    for size, part in parts.items():
        at.bring_in(_pairs(part), _by(part, people), ENCODER)
        alone[str(size)] = p_at_3(ENCODER, unseen)
    at.bring_in(_pairs(remembered), _by(remembered, people), UNTOUCHED)
    untouched = p_at_3(UNTOUCHED, asked)

    learnt, proven, consolidation, counts = {}, {}, {}, {0: at.counts()}
    for size, part in parts.items():
        at.seed(_pairs(part), _by(part, people))
        counts[size] = at.counts()
        learnt[str(size)], proven[str(size)] = p_at_3(POOL, unseen), at.active_share()
        consolidation[str(size)] = at.learnt()["outcome"]
        say(f"{size} memories, P@3 {learnt[str(size)]:.3f}")
    spent = calls_and_tokens(counts[0], counts[SIZES[-1]], SIZES[-1])
    return {
        "p_at_3": learnt,
        "encoder": alone,
        "proven_share": proven,
        "last_consolidation": consolidation,
        "p_at_3_at_200": learnt["200"],
        "proven_share_at_200": proven["200"],
        "untouched": {"before": untouched, "after": p_at_3(UNTOUCHED, asked)},
        "calls": spent["calls"],
        "tokens": spent["tokens"],
        "learnt": at.learnt(),
    }


def _pairs(tasks: Sequence[Task]) -> list[Pair]:
    return [(task.prompt, task.answer) for task in tasks]


def _by(tasks: Sequence[Task], chance: random.Random) -> list[str]:
    """Who brings in each."""
    return chance.choices(PEOPLE, k=len(tasks))


if __name__ == "__main__":
    typer.run(main)
