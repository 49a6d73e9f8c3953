"""A Prometheus that scrapes a run every second and evaluates the alerts."""

from __future__ import annotations

import json
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.deployment import ended

CONFIGURATION = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["{alerts}"]
scrape_configs:
  - job_name: memshare
    static_configs: [{{targets: ["127.0.0.1:{shared}"]}}]
  - job_name: memshare-workers
    static_configs: [{{targets: ["127.0.0.1:{worker}"]}}]
"""


class Prometheus:
    """A running one, at `url`."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, path: str, **words: str) -> Any:
        """What its API answers; raises `HTTPError` for a query that it refuses."""
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(words)}", timeout=10) as reply:
            return json.load(reply)["data"]

    def values(self, query: str) -> list[Any]:
        return list(self.ask("query", query=query)["result"])


@contextmanager
def prometheus(folder: Path, alerts: Path, *, own: int, shared: int, worker: int) -> Iterator[Prometheus]:
    """One on the port `own`, with these rules, that scrapes the ports `shared` and `worker`, while the block runs."""
    configuration = folder / "prometheus.yml"
    configuration.write_text(CONFIGURATION.format(alerts=alerts, shared=shared, worker=worker))
    command = ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={folder}/data"]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{own}"], stdout=log, stderr=log)
    try:
        yield Prometheus(f"http://127.0.0.1:{own}")
    finally:
        process.terminate()
        ended(process)
