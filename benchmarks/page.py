"""The page for people beside a deployment at work: `python -m benchmarks.page`.

A pool is filled with made-up memories and opened by a memory service; agents and scorer work off tasks, with a chat
server on loopback, and `memshare serve` shows the page to a headless Chromium.
- `first_screen_ms`: from asking for the first screen until it is drawn, in a new window;
- `search_ms`: from asking for what was typed until the answer is there; the page waits 150 ms for a next letter before;
- `serve_mb_5_pages`: resident memory of `memshare serve` with five pages open;
- `journeys_kept`: journeys a second with five pages open, as a share of those with none; the two take turns. Plain
  clients ask what pages ask, for a browser would take this machine's processors from the workers;
- `processor_kept`: the same of the processor time that a journey takes in workers, Redis and `memshare serve`: other
  work on the machine does not change it;
- `serve_processor`: the share of one processor that `memshare serve` takes with five pages open;
- `pages_shown`: how often these five pages were asked for.
Times are medians.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from playwright.sync_api import Browser, sync_playwright

from benchmarks.page_clients import pages_open
from benchmarks.processes import cpu_seconds, resident_mb
from benchmarks.report import Aim, print_figures, progress
from benchmarks.synthetic import DIMENSION, Synthetic
from memshare_broker import redis_server
from memshare_broker.settings import Settings
from memshare_memory.encoders.encoder import BUNDLED
from memshare_memory.recall.recall import sparse_of
from memshare_memory.stores.open_store import open_store
from memshare_memory.stores.store import Layout, Vectors
from tests.support.chat_script import well
from tests.support.chat_server import serving
from tests.support.deployment import Deployment, deployed, wait_for

AIMS = (
    Aim("first_screen_ms", 500, "ms", at_most=True),
    Aim("search_ms", 200, "ms", at_most=True),
    Aim("serve_mb_5_pages", 160, "MB", at_most=True),
    Aim("journeys_kept", 0.97, "of the rate without"),
)
WORKERS = (("poem", "scorer"), ("memory",))
BATCH = 1_000
LOOKS = 20  # of which a median is taken
ROUNDS = 4  # with pages and without, in turns
PATHS = ("/", "/pool", "/inbox", "/worth", "/now")
SETTLED_WITHIN = 1_800.0  # seconds


def main(
    tasks: Annotated[int, typer.Option(min=80, help="Tasks that are worked off.")] = 10_000,
    memories: Annotated[int, typer.Option(min=1_000, help="Memories of the pool.")] = 100_000,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of tables.")] = False,
) -> None:
    """Measure, and print the figures."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("There is no Chromium on the PATH (apt install chromium).")
    with tempfile.TemporaryDirectory(prefix="memshare-bench-") as name:
        settings = Settings(data=Path(name), redis_url=None, model="openai:loopback")
        _fill(settings, memories)
        redis = redis_server.start(settings.data)
        try:
            wait_for(redis_server.socket_path(settings.data).exists, 10, "Redis")
            with (
                serving(well) as chat,
                deployed(settings, chat, settings.data, WORKERS) as deployment,
                _serve(deployment) as (url, pid),
                sync_playwright() as playwright,
                playwright.chromium.launch(executable_path=chromium) as browser,
            ):
                own = [one.pid for one in deployment.processes.values() if one.pid is not None]
                pids = [redis.pid, pid, *own]
                figures = _measure(deployment, browser, url, pid, pids, tasks)
        finally:
            redis.terminate()
            redis.wait(10)
    title = f"The page, {tasks:,} tasks and {memories:,} memories"
    print_figures(title, {"tasks": tasks, "memories": memories, **figures}, as_json=as_json, aims=AIMS)


def _measure(
    deployment: Deployment, browser: Browser, url: str, pid: int, pids: Sequence[int], tasks: int
) -> dict[str, Any]:
    rates: dict[bool, list[float]] = {True: [], False: []}
    seconds: dict[bool, list[float]] = {True: [], False: []}
    of_serve: list[float] = []
    count = tasks // (2 * ROUNDS)
    megabytes, shown = 0.0, 0
    for number in progress(range(2 * ROUNDS), "Working off tasks"):
        with_pages = number % 4 in (1, 2)  # each comes first as often as the other: journeys slow down as Redis fills
        with pages_open(url, PATHS if with_pages else ()) as clients:
            before, serve_before = cpu_seconds(pids), cpu_seconds([pid])
            rates[with_pages].append(_rate(deployment, number, count))
            seconds[with_pages].append(cpu_seconds(pids) - before)
            if with_pages:
                megabytes = max(megabytes, resident_mb([pid]))
                of_serve.append((cpu_seconds([pid]) - serve_before) * rates[True][-1] / count)
            shown += sum(one.shown for one in clients)
    kept = [with_some / without for with_some, without in zip(rates[True], rates[False], strict=True)]
    taken = [without / with_some for with_some, without in zip(seconds[True], seconds[False], strict=True)]
    return {
        "first_screen_ms": round(median(_first_screen(browser, url) for _ in range(LOOKS)), 1),
        "search_ms": round(median(_searches(browser, url)), 1),
        "serve_mb_5_pages": round(megabytes, 1),
        "journeys_kept": round(median(kept), 3),
        "journeys_per_second": round(median(rates[False]), 1),
        "processor_kept": round(median(taken), 3),
        "serve_processor": round(median(of_serve), 4),
        "pages_shown": shown,
    }


def _rate(deployment: Deployment, number: int, count: int) -> float:
    """Journeys a second of so many tasks that are there at once, each of them another."""
    started, before = time.perf_counter(), deployment.client.ledger.done().get("settle", 0)
    for at in range(count):
        deployment.client.submit("poem", f"A limerick about lighthouse {number}, lamp {at}", kind="limerick")
    wait_for(
        lambda: deployment.client.ledger.done().get("settle", 0) - before >= count, SETTLED_WITHIN, "every task to end"
    )
    return count / (time.perf_counter() - started)


def _first_screen(browser: Browser, url: str) -> float:
    with browser.new_context() as context:
        page = context.new_page()
        started = time.perf_counter()
        page.goto(url)
        return (time.perf_counter() - started) * 1_000


def _searches(browser: Browser, url: str) -> list[float]:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{url}/pool")
        search, taken = page.locator("#q"), []
        for number in range(LOOKS):
            with page.expect_response(lambda answer: "/pool?q=" in answer.url) as answered:
                search.fill(f"lamps of lighthouse {number}")
            answered.value.finished()
            timing = answered.value.request.timing
            taken.append(float(timing["responseEnd"] - timing["requestStart"]))
    return taken


def _fill(settings: Settings, count: int) -> None:
    """Write made-up memories with made-up vectors, which takes a hundredth of encoding them, and have them indexed."""
    world, layout = Synthetic(seed=count), Layout(encoder=BUNDLED, dimension=DIMENSION)
    store = open_store(settings, layout, "benchmark")
    try:
        for start in progress(range(0, count, BATCH), f"Writing {count:,} memories"):
            batch = world.memories(min(BATCH, count - start))
            store.put([(memory, Vectors(vector, sparse_of(memory))) for memory, vector in batch])
    finally:
        store.close()
    open_store(settings, layout, "benchmark").close()  # the engine builds its index when it is opened


@contextmanager
def _serve(deployment: Deployment) -> Iterator[tuple[str, int]]:
    """`memshare serve` as a process; its address and its pid."""
    command = [sys.executable, "-m", "memshare", "serve", "--port", "0", "--json"]
    with (deployment.logs / "serve.log").open("wb") as log:
        server = subprocess.Popen(command, env=deployment.environment, stdout=subprocess.PIPE, stderr=log, text=True)
    assert server.stdout is not None
    with server.stdout:
        try:
            yield json.loads(server.stdout.readline())["url"], server.pid
        finally:
            server.terminate()
            server.wait(30)


if __name__ == "__main__":
    typer.run(main)
