"""What is looked at before workers are started, so that a person reads what is wrong at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from shlex import quote

from memshare_agents.roster import Agent, load_roster
from memshare_broker.app import CONCEPTS_QUEUE, MEMORY_QUEUE, SCORER_QUEUE, TRAINER_QUEUE
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_llm.limits.prices import load_prices
from memshare_llm.models import open_chat
from memshare_memory.door.listening import check_door
from memshare_memory.encoders.encoder_name import check_encoder_name
from memshare_scorer.checking.programs import require_checks
from memshare_scorer.rubric import all_rubrics, rubric_files


def check(settings: Settings, queues: Collection[str] | None = None) -> set[str]:
    """The chat models that a worker of these queues, or of all, asks.

    Raises `BadInput` for what it could not do, before slow or paid work begins: a broken file, a rubric, its checks or
    documents that are not there, a model it cannot open, a missing key, an address that it cannot listen on.
    """

    def serves(queue: str) -> bool:
        return queues is None or queue in queues

    agents = [agent for name, agent in load_roster(settings.agents_dir).items() if serves(name)]
    rubrics = all_rubrics(settings.agents_dir)
    load_prices(settings.prices)
    for agent in agents:
        _require_rubric(agent, rubrics)
    if any(agent.engine for agent in agents):
        from memshare_agents.reasoning.sources.build import documents_of  # needs packages that only agents have

        documents_of(settings)
    models = {agent.model or settings.model_for("agents") for agent in agents}
    models |= {model for agent in agents for model in agent.models.values()}
    if serves(SCORER_QUEUE):
        require_checks(rubrics.values())
    if serves(SCORER_QUEUE) or serves(CONCEPTS_QUEUE):
        models.add(settings.model_for("scorer"))
    if serves(TRAINER_QUEUE):
        models.add(settings.model_for("trainer"))
    check_models(settings, models)
    if serves(MEMORY_QUEUE) and (queues is not None or settings.memory_url is None):
        check_door(settings)
        check_encoder_name(settings.encoder)
    return models


def unapproved(settings: Settings) -> list[str]:
    """A warning for each agent whose answers would be paid for and not graded, as nobody has approved its rubric."""
    rubrics = all_rubrics(settings.agents_dir)
    files = rubric_files(settings.agents_dir)
    return [
        f"Agent {name!r}: nobody has approved its rubric, so its answers are not graded. Read it, then run `memshare "
        f"rubric approve {quote(str(files[agent.rubric]))}`."
        for name, agent in load_roster(settings.agents_dir).items()
        if agent.rubric in rubrics and not rubrics[agent.rubric].approved
    ]


def _require_rubric(agent: Agent, rubrics: Collection[str]) -> None:
    if agent.rubric not in rubrics:
        raise BadInput(
            f"Agent {agent.name!r} has the rubric {agent.rubric!r}, and there is none: its answers could not be graded."
            f" There are: {', '.join(rubrics)}. Put {agent.rubric}.rubric.toml into MEMSHARE_AGENTS_DIR, here and where"
            " the scorer runs, or name one of these."
        )


def check_models(settings: Settings, models: Iterable[str]) -> None:
    """Raise `BadInput` for a model that cannot be opened: an unknown name, a missing key. Nobody is called."""
    for model in models:
        open_chat(model, timeout=settings.model_timeout, connections=1)
