"""`memshare up` with the settings that a user gets, and on a temporary folder with an expert as its model."""

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
def running_up(
    folder: Path, agents: Path, model: str, url: str, **more: str
) -> Iterator[tuple[Client, dict[str, str]]]:
    """`memshare up` runs on a folder while the block does; a client of it, and the environment of its commands.

    `agents` is a folder of agents, `url` the address of the model's server; `more` are settings that differ from the
    defaults.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMSHARE_")} | {
        "MEMSHARE_DATA": str(folder / "data"),
        "MEMSHARE_AGENTS_DIR": str(agents),
        "MEMSHARE_MODEL": model,
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": os.environ.get("OPENAI_API_KEY", "none"),
        **more,
    }
    with (folder / "up.log").open("w+") as log:
        command = [MEMSHARE, "up", "--flower-port", "0", "--port", "0", "--json"]
        # In a session of its own, so that Ctrl-C ends the benchmark, which then ends it.
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        )
        assert process.stdout is not None
        try:
            if not process.stdout.readline():
                raise SystemExit(f"memshare up did not start: {(folder / 'up.log').read_text()[-2000:]}")
            settings = Settings(data=folder / "data", redis_url=None, agents_dir=agents, model=model)
            with Client(settings) as client:
                yield client, environment
        finally:
            process.terminate()
            process.wait(180)
            process.stdout.close()


@contextmanager
def deployed(
    name: str, *arguments: str, exports: Path, pools: Mapping[str, str] | None = None, **more: str
) -> Iterator[Deployment]:
    """A deployment of a benchmark runs while the block does; `more` are settings that differ from the defaults.

    The benchmark's folder has a module `expert`, which takes the arguments, and its agent, which has the same name and
    pool. `pools` are more such agents, with their pools, or the line of their files that names several.
    """
    expert = server.running(f"benchmarks.{name}.expert", *arguments)
    with tempfile.TemporaryDirectory(prefix=f"memshare-{name}-") as temporary, expert as chat:
        folder = Path(temporary)
        agents = _agents(name, folder / "agents", pools or {})
        with running_up(folder, agents, MODEL, chat.url, MEMSHARE_EXPORTS=str(exports), **more) as (
            client,
            environment,
        ):
            yield Deployment(client, chat.url, environment, folder, name)


def _agents(name: str, folder: Path, pools: Mapping[str, str]) -> Path:
    """A folder with the benchmark's agent, and one like it for each of `pools`."""
    shutil.copytree(BENCHMARKS / name / "agents", folder)
    agent = (folder / f"{name}.toml").read_text("utf-8")
    for other, pool in pools.items():
        line = pool if "=" in pool else f'pool = "{pool}"'
        (folder / f"{other}.toml").write_text(agent.replace(f'pool = "{name}"', line), "utf-8")
    return folder
