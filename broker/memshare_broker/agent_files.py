"""The files of agents, and what those who are no agents take from them: whose answers go where, graded by what."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from pydantic import ConfigDict, Field

from memshare_broker.errors import BadInput
from memshare_broker.presence import AgentCard
from memshare_broker.toml_files import load
from memshare_broker.wire.messages import Name
from memshare_broker.wire.spaces import AgentPools

# Data of a part above: the roster is read here, and no code of the agents is imported.
BUNDLED = Path(str(files("memshare_agents"))) / "roster"


class _AgentFile(AgentPools):
    """The part of an agent's file that is for others; the agents themselves read all of it."""

    model_config = ConfigDict(extra="ignore")

    rubric: Name
    model: str = ""
    kinds: dict[Name, object] = Field(default={})


def agent_files(agents_dir: Path | None) -> dict[str, Path]:
    """The bundled agents' files and those of the user's folder, by name; the user's file wins over a bundled one.

    Raises `BadInput` for what is no folder.
    """
    if agents_dir is not None and not agents_dir.is_dir():
        raise BadInput(f"MEMSHARE_AGENTS_DIR={str(agents_dir)!r} is no folder.")
    files = [file for folder in (BUNDLED, agents_dir) if folder for file in folder.glob("*.toml")]
    return {file.stem: file for file in files if not file.name.endswith(".rubric.toml")}


def read_card(name: str, agents_dir: Path | None) -> AgentCard | None:
    """Card of an agent, with the facts that clients need, read from its file now; None where there is no such file."""
    file = agent_files(agents_dir).get(name)
    if file is None:
        return None
    found = load(file, _AgentFile)
    return AgentCard(name=name, **dict(found) | {"kinds": tuple(found.kinds)})
