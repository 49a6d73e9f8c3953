"""Checks before workers are started, so that a person reads at once of anything wrong."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from shlex import quote

from memshare_agents.roster import Agent, load_roster
from memshare_broker.app import CONCEPTS_QUEUE, MEMORY_QUEUE, SCORER_QUEUE, TRAINER_QUEUE
from memshare_broker.errors import BadInput, GiveUp, TryAgain
from memshare_broker.settings import MODELS_OF_ROLES, Settings
from memshare_broker.wire.messages import Turn
from memshare_llm.chat import RefusedReply, UselessReply
from memshare_llm.limits.budget import load_prices
from memshare_llm.models import open_chat
from memshare_llm.providers.endpoint import OWN
from memshare_memory.door.client import check_door
from memshare_memory.encoders.encoder import check_encoder_name
from memshare_scorer.programs import require_checks
from memshare_scorer.rubric import all_rubrics, rubric_files

LIST_WITHIN = 10.0  # seconds
SHOWN = 20  # models of a server
_HELLO = (Turn(role="user", content="Say hello."),)


def try_models(settings: Settings, models: Iterable[str]) -> list[str]:
    """Ask the servers of OpenAI models whether they have them; returns warnings about servers that are away.

    A model is tried by one call where the server is not OpenAI's own, or does not list it: some take any name. Raises
    `BadInput` for a model that is refused.
    """
    of_openai = sorted(name for name in models if name.startswith("openai:"))
    if not of_openai and (address := os.environ.get("OPENAI_BASE_URL")):
        unused = f"OPENAI_BASE_URL is set to {address}, and no model of that server is named, so it is not used."
        return [f"{unused} Set MEMSHARE_MODEL=openai:NAME."]
    return [warning for name in of_openai for warning in _try(settings, name)]


def _try(settings: Settings, name: str) -> list[str]:
    from memshare_llm.providers.openai_chat import OpenAIChat  # takes a second to import

    served: list[str] = []
    asked = open_chat(name, timeout=LIST_WITHIN, connections=1)
    assert isinstance(asked, OpenAIChat)
    try:
        served = asked.served()
        if asked.address == OWN["openai"] and name.partition(":")[2] in served:
            return []
        open_chat(name, timeout=settings.model_timeout, connections=1).reply(_HELLO)
    except (UselessReply, RefusedReply):
        return []
    except TryAgain as error:
        return [f"{asked.address} is not ready, and tasks wait until it is: {error}"]
    except GiveUp as error:
        if error.reason == "quota":
            return [f"Tasks are given up until the quota at {asked.address} is there again: {error}"]
        of = f"the model {name!r} of {_origin(settings, name)}: {str(error).rstrip('.')}."
        if error.reason == "credentials":
            key = "the key in OPENAI_API_KEY" if os.environ.get("OPENAI_API_KEY", "").strip() else "calls without a key"
            raise BadInput(f"{asked.address} refuses {key} for {of} Set OPENAI_API_KEY to one it takes.") from error
        is_listed = name.partition(":")[2] in served
        there = f" It has: {_listed(served)}." if served and not is_listed else ""
        raise BadInput(
            f"{asked.address} {'lists and refuses' if is_listed else 'does not serve'} {of}{there}"
            " Set MEMSHARE_MODEL=openai:NAME to another model, or OPENAI_BASE_URL to another server."
        ) from error
    return []


def _origin(settings: Settings, name: str) -> str:
    named = [f"MEMSHARE_{one.upper()}" for one in ("model", *MODELS_OF_ROLES) if getattr(settings, one) == name]
    return " and ".join(named) or "an agent's file, or the default"


def _listed(served: list[str]) -> str:
    more = f" and {len(served) - SHOWN} more" if len(served) > SHOWN else ""
    return ", ".join(sorted(served)[:SHOWN]) + more


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
