"""Builds the agents and serves their queues; `celery -A memshare_agents.worker worker -Q poem` runs them alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from memshare_agents.reasoning.engine import OPERATORS, Reasoner
from memshare_agents.reasoning.sources.build import open_sources
from memshare_agents.reasoning.toolbox import open_toolbox
from memshare_agents.roster import Agent, cards, load_roster
from memshare_agents.tasks import AnswerStage, register
from memshare_broker.app import App
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput
from memshare_broker.settings import SERVER_WAIT, Settings
from memshare_broker.worker import WorkerPart, open_stage_services, worker_app
from memshare_llm.build import open_budget, open_limited, open_metering, open_window
from memshare_llm.chat import Chat
from memshare_memory.belief.lift import HowMany, LiftSums
from memshare_memory.door.client import MemoryClient
from memshare_memory.people import said_wrong
from memshare_memory.recall.near_enough import near_enough


@functools.cache
def _memory(settings: Settings) -> MemoryClient:
    return MemoryClient(settings)


@functools.cache
def _how_many(settings: Settings) -> HowMany:
    return HowMany(connect(settings.redis))


@functools.cache
def _answering(settings: Settings, name: str) -> AnswerStage:
    agent = load_roster(settings.agents_dir)[name]
    model = agent.model or settings.model_for("agents")
    chat = open_limited(settings, model, "answers", connections=settings.concurrency)
    client = connect(settings.redis)
    return AnswerStage(
        agent,
        chat,
        _memory(settings),
        settings.prompt_limit,
        metering=open_metering(settings),
        check_caps=open_budget(settings).check,
        reasoner=_reasoner(settings, agent, model, chat) if agent.engine else None,
        window=open_window(settings, model),
        how_many=_how_many(settings),
        withhold=settings.withhold,
        near_enough=functools.partial(near_enough, client, setting=settings.near_enough),
        said_wrong=functools.partial(said_wrong, client),
        lift=LiftSums(client),
    )


def _reasoner(settings: Settings, agent: Agent, model: str, chat: Chat) -> Reasoner:
    """The engine of an agent; operators that share a model share its connections.

    Raises `BadInput` where a run may take so long that its message would be sent again meanwhile.
    """
    most = settings.longest_task - SERVER_WAIT - settings.model_timeout
    seconds = agent.limits.seconds or most
    if seconds > most:
        raise BadInput(
            f"Agent {agent.name!r} gives a run {seconds:g} seconds; at most {most:g} fit with "
            f"MEMSHARE_MODEL_TIMEOUT={settings.model_timeout:g}. Lower the one, or raise the other."
        )
    chats = {model: chat}
    for name in agent.models.values():
        if name not in chats:
            chats[name] = open_limited(settings, name, "answers", connections=settings.concurrency)
    by_operator = {operator: chats[name] for operator, name in agent.models.items()}
    limits = agent.limits.model_copy(update={"seconds": seconds})
    toolbox = open_toolbox(agent.tools, agent.database, settings.browser_seconds, OPERATORS)
    return Reasoner(limits, chat, by_operator, open_sources(settings, _memory(settings)), toolbox)


def _register(app: App, settings: Settings) -> None:
    for name, agent in load_roster(settings.agents_dir).items():
        register(app, agent, lambda: open_stage_services(settings), functools.partial(_answering, settings, name))


def _warm(settings: Settings, queues: Sequence[str]) -> None:
    for name in load_roster(settings.agents_dir):
        if name in queues:
            _answering(settings, name)


part = WorkerPart(
    queues=lambda settings: list(load_roster(settings.agents_dir)),
    register=_register,
    warm=_warm,
    cards=cards,
)
app = worker_app(part)
