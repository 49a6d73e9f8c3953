"""The roster: every agent is a TOML file."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError, model_validator

from memshare_agents.reasoning.run_state import RunLimits
from memshare_broker.app import STAGE_QUEUES
from memshare_broker.errors import BadInput
from memshare_broker.presence import AgentCard, agent_files
from memshare_broker.settings import Settings
from memshare_broker.settings_file import ChatModel
from memshare_broker.toml_files import TomlForm, load
from memshare_broker.wire.forms import InWords
from memshare_broker.wire.messages import MAX_MEMORIES, Name
from memshare_broker.wire.spaces import AgentPools
from memshare_memory.memory import Mode

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
ToolPlace = Annotated[
    str,
    StringConstraints(pattern=r"^(https?://\S+|[^:]+\.py:[A-Za-z]\w*)$"),
    InWords("the address of an MCP server, such as 'https://example.org/mcp', or FILE.py:FUNCTION"),
]
OF_ENGINE = frozenset({"models", "limits", "tools", "database"})  # keys that only the file of an engine's agent has


class Kind(TomlForm):
    """A kind of task that an agent knows, with instructions beside the agent's."""

    instructions: Text = Field(description="added to the agent's")
    recall: Mode | None = Field(default=None, description="where it differs from the agent's")
    claims: bool | None = Field(default=None, description="where it differs from the agent's")

    @property
    def version(self) -> str:
        """The first 12 hex digits of the SHA-256 of its instructions."""
        return sha256(self.instructions.encode()).hexdigest()[:12]


class Agent(AgentPools, TomlForm):
    """An agent: the instructions it gets, where its memories live and how many it is shown."""

    name: Name = ""
    description: Text
    instructions: Text = Field(description="told with every task, those of its kind after them")
    rubric: Name
    memories: int | None = Field(default=None, ge=0, le=MAX_MEMORIES, description="absent: learnt from grades")
    recall: Mode = "dense"
    claims: bool = Field(default=True, description="False: answers are made up, and contradict nothing")
    question_concepts: bool = Field(default=True, description="False: those of questions to its pool are not named")
    model: ChatModel | None = None
    kinds: dict[Name, Kind] = Field(default={})
    engine: Literal["reasoning"] | None = Field(default=None, description="absent: one call of the model")
    models: dict[Name, ChatModel] = Field(default={}, description="by operator of the engine, where it differs")
    limits: RunLimits = Field(default=RunLimits(), description="of one run of the engine")
    tools: tuple[ToolPlace, ...] = Field(default=(), description="of the engine: MCP servers, and FILE.py:FUNCTION")
    database: str | None = Field(default=None, description="a SQLite file that the engine's operator `sql` reads")

    @model_validator(mode="after")
    def _engine_has_what_it_is_given(self) -> Agent:
        if self.engine is None and self.model_fields_set & OF_ENGINE:
            raise ValueError(
                'tools, database, models and limits are of an engine: add engine = "reasoning", or leave them out'
            )
        return self

    def kind(self, name: str | None) -> Kind:
        """The kind of a task, with all that it is told: the agent's instructions, and those of the kind after them.

        Raises `BadInput` for a kind that the agent does not have.
        """
        if name is None:
            return Kind(instructions=self.instructions, recall=self.recall)
        if name not in self.kinds:
            known = ", ".join(self.kinds) or "none; leave the kind out"
            raise BadInput(f"Agent {self.name!r} has no kind {name!r}. It has: {known}.")
        kind = self.kinds[name]
        return kind.model_copy(update={"instructions": f"{self.instructions}\n\n{kind.instructions}"})

    def card(self, model: str) -> AgentCard:
        claims = {None: self.claims} | {
            name: self.claims if kind.claims is None else kind.claims for name, kind in self.kinds.items()
        }
        return AgentCard(
            name=self.name,
            kinds=tuple(self.kinds),
            pool=self.pool,
            pools=self.pools,
            promotion=self.promotion,
            model=self.model or model,
            rubric=self.rubric,
            question_concepts=self.question_concepts,
            invented=tuple(kind for kind, claimed in claims.items() if not claimed),
            memories=self.memories,
        )


def load_roster(agents_dir: Path | None) -> dict[str, Agent]:
    """The bundled agents and those of the user's folder, by name; the user's file wins over a bundled one.

    Raises `BadInput` as FILE:LINE: reason for a file that cannot be used.
    """
    return {name: _load_agent(name, file) for name, file in sorted(agent_files(agents_dir).items())}


def find_agent(name: str, agents_dir: Path | None) -> Agent | None:
    """An agent, whatever the files of others are; None for an unknown name."""
    file = agent_files(agents_dir).get(name)
    return None if file is None else _load_agent(name, file)


def cards(settings: Settings) -> list[AgentCard]:
    model = settings.model_for("agents")
    return [agent.card(model) for agent in load_roster(settings.agents_dir).values()]


def usable_cards(settings: Settings) -> tuple[dict[str, AgentCard], dict[str, BadInput]]:
    """The card of each agent by its name, and what is wrong with each file that cannot be used."""
    usable, wrong = dict[str, AgentCard](), dict[str, BadInput]()
    for name, file in agent_files(settings.agents_dir).items():
        try:
            usable[name] = _load_agent(name, file).card(settings.model_for("agents"))
        except BadInput as error:
            wrong[name] = error
    return usable, wrong


def _load_agent(name: str, file: Path) -> Agent:
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError as error:
        raise BadInput(f"{file}:1: an agent's file is named NAME.toml with NAME of a-z, 0-9, _ and -.") from error
    if name in STAGE_QUEUES:
        raise BadInput(f"{file}:1: an agent cannot be called {name!r}: the queue of that name is taken.")
    agent = load(file, Agent)
    beside = file.absolute().parent
    tools = tuple(one if "://" in one else str(beside / one) for one in agent.tools)
    # As they are set, so that a copy of the file elsewhere means the same.
    places = {"tools": tools, "database": agent.database and str(beside / agent.database)}
    return agent.model_copy(update={"name": name, **{key: place for key, place in places.items() if place}})
