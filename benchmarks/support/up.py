"""`memshare up` with the settings that a user gets, on a temporary folder, with an expert as its model."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.support import server
from benchmarks.support.deployment import MEMSHARE, Deployment
from memshare.client.client import Client
from memshare_broker.settings import Settings

BENCHMARKS = Path(__file__).parents[1]
MODEL = "openai:expert"


@contextmanager
def deployed(
    name: str, *arguments: str, exports: Path, pools: Mapping[str, str] | None = None, **more: str
) -> Iterator[Deployment]:
    """A deployment of a benchmark runs while the block does; `more` are settings that differ from the defaults.

    The benchmark's folder has a module `expert`, which takes the arguments, and its agent, which has the same name and
    pool. `pools` are more such agents, with their pools.
    """
    expert = server.running(f"benchmarks.{name}.expert", *arguments)
    with tempfile.TemporaryDirectory(prefix=f"memshare-{name}-") as temporary, expert as chat:
        folder = Path(temporary)
        agents = _agents(name, folder / "agents", pools or {})
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMSHARE_")} | {
            "MEMSHARE_DATA": str(folder / "data"),
            "MEMSHARE_EXPORTS": str(exports),
            "MEMSHARE_AGENTS_DIR": str(agents),
            "MEMSHARE_MODEL": MODEL,
            "OPENAI_BASE_URL": chat.url,
            "OPENAI_API_KEY": "benchmark",
            **more,
        }
        with (folder / "up.log").open("w+") as log:
            command = [MEMSHARE, "up", "--flower-port", "0", "--port", "0", "--json"]
            process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
            assert process.stdout is not None
            try:
                if not process.stdout.readline():
                    raise SystemExit(f"memshare up did not start: {(folder / 'up.log').read_text()[-2000:]}")
                settings = Settings(data=folder / "data", redis_url=None, agents_dir=agents, model=MODEL)
                with Client(settings) as client:
                    yield Deployment(client, chat.url, environment, folder, name)
            finally:
                process.terminate()
                process.wait(120)
                process.stdout.close()


def _agents(name: str, folder: Path, pools: Mapping[str, str]) -> Path:
    """A folder with the benchmark's agent, and one like it for each of `pools`."""
    shutil.copytree(BENCHMARKS / name / "agents", folder)
    agent = (folder / f"{name}.toml").read_text("utf-8")
    for other, pool in pools.items():
        (folder / f"{other}.toml").write_text(agent.replace(f'pool = "{name}"', f'pool = "{pool}"'), "utf-8")
    return folder
