"""The steps of one profile, run within the engine's network namespace, and a table of what was seen."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from memshare.terminal.console import print_json
from tests.deploy.compose import Compose
from tests.deploy.engine import run
from tests.deploy.steps import PROFILES, STEPS, Seen, Site
from tests.faults.model import Model
from tests.support.chat_server import serving

LATENCY = 0.2  # seconds of a model's reply


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.deploy.inside")
    parser.add_argument("profile", choices=PROFILES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tasks", type=int, required=True)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    [bridge] = json.loads(run("ip", "-4", "-json", "address", "show", "docker0"))  # which every container reaches
    with serving(Model(LATENCY), host=bridge["addr_info"][0]["local"]) as chat:
        compose = Compose(options.folder, options.profile, chat.url)
        site = Site(compose, options.tasks)
        seen = [_seen(site, *step) for step in STEPS]
        compose("down", "--volumes", "--timeout", "20")
    if options.json:
        print_json({"profile": options.profile, "steps": [asdict(one) for one in seen]})
    else:
        _print(options.profile, seen)
    sys.exit(any(one.wrong for one in seen))


def _seen(site: Site, name: str, step: object) -> Seen:
    """Do a step; whatever goes wrong in it is what was seen of it."""
    assert callable(step)
    started = time.monotonic()
    try:
        saw, wrong = step(site), ""
    except Exception as error:  # noqa: BLE001 - the table tells of it, and the next step goes on
        saw, wrong = "", f"{type(error).__name__}: {error}"
    one = Seen(name, round(time.monotonic() - started, 1), saw, wrong)
    Console(stderr=True, soft_wrap=True).print(f"  {name}: {one.wrong or one.saw} ({one.seconds:.0f} s)", markup=False)
    return one


def _print(profile: str, seen: list[Seen]) -> None:
    table = Table("what was done", "s", "what was seen", title=f"Profile {profile}", box=None, title_justify="left")
    for one in seen:
        table.add_row(one.name, f"{one.seconds:.0f}", f"[red]FAILED[/] {one.wrong}" if one.wrong else one.saw)
    Console(width=None if sys.stdout.isatty() else 160).print(table)


if __name__ == "__main__":
    main()
