"""The fault-injection run: `make faults`, or `python -m tests.faults` with options.

Each scenario gets an empty Redis, store and chat server, five worker processes and its tasks; then something breaks.
Ends with status 1 when anything happened that must not.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence

from tests.faults.run import Result, Scenario, forget, run
from tests.faults.scenarios import SCENARIOS
from tests.faults.table import print_document, print_table, progress
from tests.faults.verdict import failings
from tests.support.qdrant_server import NAMED

TASKS, SHORT_TASKS = 1_000, 60
SHORT_SIZE = 0.2


def main() -> None:
    options = _options()
    if options.list:
        for scenario in SCENARIOS:
            print(f"{scenario.name:24}{scenario.breaks}")
        return
    chosen = options.only or [one.name for one in SCENARIOS if one.quick or not options.short]
    wanted = [one for one in SCENARIOS if one.name in chosen]
    tasks = options.tasks or (SHORT_TASKS if options.short else TASKS)
    results = run_all(wanted, tasks, SHORT_SIZE if options.short else 1.0)
    (print_document if options.json else print_table)(results)
    if any(failings(result) for result in results):
        sys.exit(1)


def run_all(scenarios: Sequence[Scenario], tasks: int, size: float) -> list[Result]:
    """Run scenarios one after the other, with a line of progress for each; keeps the logs of those that fail."""
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("MEMSHARE_EXPORTS", folder)  # the encoder is exported once
        for number, scenario in enumerate(scenarios, 1):
            progress.print(f"{number}/{len(scenarios)} {scenario.name}: {scenario.breaks} …", highlight=False)
            started = time.monotonic()
            result = run(scenario, tasks, NAMED, size)
            wrong = failings(result)
            words = result.skipped or "; ".join(wrong) or "as it must be"
            progress.print(f"    {words} ({time.monotonic() - started:.0f} s)", highlight=False)
            results.append(result if wrong else forget(result))
    return results


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=(__doc__ or "").splitlines()[0])
    names = [scenario.name for scenario in SCENARIOS]
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    parser.add_argument("--tasks", type=int, help=f"tasks of each scenario (default {TASKS:,})")
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help="these scenarios alone")
    parser.add_argument("--short", action="store_true", help=f"the quick scenarios, with {SHORT_TASKS} tasks each")
    parser.add_argument("--list", action="store_true", help="name the scenarios, and run none")
    return parser.parse_args()


if __name__ == "__main__":
    main()
