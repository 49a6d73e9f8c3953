"""Journeys per second, beside what Celery does with tasks that do nothing: `python -m benchmarks.journey`.

A journey is a task's way over all hops: recall and answer, grade, settle (here every answer is stored). About a quarter
of the memories are then compared with others that answer the same question, as in a pool in use, which is one call and
one message more (`compared_share`), and few become lessons, which nobody takes here. The model is a chat server on
loopback behind the real OpenAI client, in a process of its own on the same processors. Everything runs on as many
processors as `--processors` says: Redis, the memory service, agents, scorer, chat server and this program. `--threads`
tasks are in flight: agents have so many threads together. The scorers, which grade and compare, have twice as many, as
under `memshare up`. The share of the ideal is that of threads / latency, which would be reached if nothing but the
model took time.

With `--against` an older tree, such as a worktree of an earlier commit, runs the same journeys in turns with this one,
on a Redis and a pool of its own; figures are medians of the rounds. `cpu_ratio` leaves the chat server out, which both
share. Rates are those of the middle 80 % of a run: without its start and its end. `recall_ms` is what the door takes
for one recall after the other, while nothing else runs.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from benchmarks.journey_deployment import Deployment, Ran, deployed, layout
from benchmarks.noop import noop_rate
from benchmarks.processes import stay_on
from benchmarks.report import Aim, print_figures, progress
from benchmarks.support.server import running

LATENCY = 0.5  # seconds
WARM_UP = 200  # journeys
AIM = 0.9
AIMS = (
    Aim("share_of_ideal", AIM, "of the ideal"),
    Aim("journeys_per_noop", 0.15, "journeys a task that does nothing"),
    Aim("cpu_ratio", 1.05, "times the processor time of the tree before", at_most=True),
    Aim("rate_ratio", 0.95, "times the journeys a second of the tree before"),
    Aim("recall_ratio", 1.05, "times what a recall took with the tree before", at_most=True),
)


def main(
    processors: Annotated[int, typer.Option(min=1, help="Processors that everything shares.")] = 2,
    threads: Annotated[int, typer.Option(min=1, help="Tasks in flight.")] = 32,
    agents: Annotated[int | None, typer.Option(help="Agent processes. [default: one for two processors]")] = None,
    scorers: Annotated[int | None, typer.Option(help="Scorer processes. [default: one for two processors]")] = None,
    journeys: Annotated[int, typer.Option(min=50, help="Journeys of each run.")] = 600,
    noops: Annotated[int, typer.Option(min=100, help="Tasks that do nothing, of each run.")] = 5000,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds, in which the sides take turns.")] = 3,
    against: Annotated[Path | None, typer.Option(help="The tree before, to run beside this one.")] = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Measure, and print the figures."""
    numbers = stay_on(processors)
    agents, scorers = agents or max(1, processors // 2), scorers or max(1, processors // 2)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memshare-bench-")))
        chat = stack.enter_context(running("benchmarks.chat_server"))
        workers = layout(threads, agents, scorers)
        trees = {"now": None} | ({"before": against.resolve()} if against else {})
        sides = {}
        for name, tree in trees.items():
            (folder / name).mkdir()
            sides[name] = stack.enter_context(deployed(tree, folder / name, workers, chat))
        (folder / "noop").mkdir()
        instant: dict[str, list[Ran]] = {name: [] for name in sides}
        slow: dict[str, list[Ran]] = {name: [] for name in sides}
        recalls: dict[str, list[float]] = {name: [] for name in sides}
        noop_rates = []
        for number in progress(range(rounds), "Rounds"):
            for name, side in sides.items():
                _one_round(side, number, journeys, instant[name], slow[name])
                recalls[name].append(side.recall_ms())
            noop_rates.append(noop_rate(folder / "noop", noops, threads))
    ideal = threads / LATENCY
    figures = _figures(instant["now"], slow["now"], recalls["now"], ideal)
    figures |= {
        "noop_tasks_per_second": round(median(noop_rates), 1),
        "journeys_per_noop": round(figures["journeys_per_second"] / median(noop_rates), 3),
        "ideal_per_second": ideal,
        "threads": threads,
        "latency_seconds": LATENCY,
        "processors": numbers,
        "agent_processes": agents,
        "scorer_processes": scorers,
        "rounds": rounds,
        "aim_share_of_ideal": AIM,
        "aim_met": figures["share_of_ideal"] >= AIM,
    }
    if against is not None:
        before = _figures(instant["before"], slow["before"], recalls["before"], ideal)
        figures["before"] = before
        figures["cpu_ratio"] = _cpu_ratio(instant)
        figures["cpu_ratio_with_latency"] = _cpu_ratio(slow)
        figures["rate_ratio"] = round(figures["journeys_per_second"] / before["journeys_per_second"], 3)
        figures["recall_ratio"] = round(figures["recall_ms"] / before["recall_ms"], 3)
    print_figures("Journeys", figures, as_json=as_json, aims=AIMS)


def _one_round(side: Deployment, number: int, journeys: int, instant: list[Ran], slow: list[Ran]) -> None:
    if number == 0:
        side.run("warm-up", WARM_UP, 0)
    instant.append(side.run(f"no latency, round {number}", journeys, 0))
    slow.append(side.run(f"{LATENCY * 1000:.0f} ms latency, round {number}", journeys, LATENCY))


def _figures(instant: list[Ran], slow: list[Ran], recalls: list[float], ideal: float) -> dict[str, Any]:
    return {
        "journeys_per_second": round(median(one.rate for one in instant), 1),
        "recall_ms": round(median(recalls), 2),
        "share_of_ideal": round(median(one.rate for one in slow) / ideal, 3),
        "compared_share": round(median(one.compared for one in (*instant, *slow)), 3),
        "cpu_ms_per_journey": _by_process(instant),
        "cpu_ms_per_journey_with_latency": _by_process(slow),
    }


def _by_process(runs: list[Ran]) -> dict[str, float]:
    by_name = {name: round(median(one.cpu_ms[name] for one in runs), 2) for name in runs[0].cpu_ms}
    return by_name | {"all but the chat server": round(median(_own(one) for one in runs), 2)}


def _cpu_ratio(runs: dict[str, list[Ran]]) -> float:
    pairs = zip(runs["now"], runs["before"], strict=True)
    return round(median(_own(now) / _own(before) for now, before in pairs), 3)


def _own(run: Ran) -> float:
    return sum(spent for name, spent in run.cpu_ms.items() if name != "chat server")


if __name__ == "__main__":
    typer.run(main)
