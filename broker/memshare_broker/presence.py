"""Who is there: each worker says every few seconds which queues it serves and which agents it has.

What others know of an agent, where its answers go and by what they are graded, is its card: announced by its worker, or
read from its file.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from uuid import uuid4

import redis
from pydantic import ConfigDict, Field, ValidationError

from memshare_broker.errors import BadInput
from memshare_broker.toml_files import load
from memshare_broker.wire.messages import Message, Name
from memshare_broker.wire.signing import Signer
from memshare_broker.wire.spaces import AgentPools

log = logging.getLogger(__name__)

PREFIX = "memshare:worker:"
INCARNATIONS_THERE = "memshare:workers"
"""Set: the incarnation of each worker that has announced itself and has not withdrawn."""
VANISHED = "memshare:workers:vanished"
"""Sorted set: incarnations of workers that have vanished, by the time at which that was noticed."""
INVENTED = "memshare:invented_kinds"
"""Hash: agent → as JSON its kinds of tasks whose answers are made up; null is a task without a kind."""
INTERVAL, LIFETIME = 5.0, 20  # seconds
NOTICED_FOR = 3 * INTERVAL
WORKER_INCARNATION = uuid4().hex  # of this process and of those it forks: a worker that is started again has another

SAME_NAME = (
    "Two workers are called {node}: what one of them does is taken for lost and done again, so some answers are paid "
    "twice. End one, and start it under a name of its own (`celery -n`)."
)


class AgentCard(AgentPools, Message):
    """The facts about an agent that a client needs to submit to it."""

    model_config = ConfigDict(extra="ignore")  # of another release, as `Presence`

    name: str
    kinds: tuple[str, ...]
    model: str
    rubric: str | None = None
    question_concepts: bool = True
    invented: tuple[str | None, ...] = ()
    """The kinds of tasks whose answers claim nothing of the world; None is a task without a kind."""
    memories: int | None = None
    """How many a task is shown, where its file fixes it."""

    def require_kind(self, kind: str | None) -> None:
        """Raises `BadInput` where the agent has no such kind of tasks."""
        if kind is not None and kind not in self.kinds:
            known = ", ".join(self.kinds) or "none; leave the kind out"
            raise BadInput(f"Agent {self.name!r} has no kind {kind!r}. It has: {known}.")


class Presence(Message):
    """A worker process, of this release or of a newer release that tells more of itself."""

    model_config = ConfigDict(extra="ignore")

    node: str
    pid: int
    incarnation: str
    queues: tuple[str, ...]
    agents: tuple[AgentCard, ...] = ()
    scorer_model: str | None = None
    """The model that grades, or names concepts, where it does."""
    trainer_model: str | None = None
    """The model that says which memories mislead, where it trains."""
    secrets: tuple[str, ...] = ()
    """Fingerprints of the secrets that it takes; the first is the one that it signs with."""
    shares_name: bool = False
    """True while another worker says that it is there under the same name."""


def announce(client: redis.Redis, presence: Presence) -> str | None:
    """Say that this worker is there; it is forgotten when it has not said so for `LIFETIME` seconds.

    Returns the incarnation that had said so last under its name; None where none is known. A full Redis goes on knowing
    who was there; raises its `OutOfMemoryError` all the same.
    """
    client.expire(PREFIX + presence.node, LIFETIME)
    with client.pipeline() as step:
        step.set(PREFIX + presence.node, presence.model_dump_json(), ex=LIFETIME, get=True)
        step.sadd(INCARNATIONS_THERE, presence.incarnation)
        for card in presence.agents:
            step.hset(INVENTED, card.name, json.dumps(card.invented))
        text, *_ = step.execute()
    with suppress(ValidationError):
        return Presence.model_validate_json(text or "").incarnation
    return None


def is_invented(client: redis.Redis, agent: str | None, kind: str | None) -> bool:
    """True if an agent's answers to tasks of a kind are made up, as its worker announced; False if none ever did."""
    told = client.hget(INVENTED, agent) if agent else None
    return told is not None and kind in json.loads(told)


def withdraw(client: redis.Redis, presence: Presence) -> None:
    with client.pipeline() as step:
        step.delete(PREFIX + presence.node)
        step.srem(INCARNATIONS_THERE, presence.incarnation)
        step.execute()


def present_and_vanished(client: redis.Redis) -> tuple[list[Presence], set[str]]:
    """The workers that are there, and the incarnations of those that were ended without a chance to withdraw."""
    announced = set(map(str, client.smembers(INCARNATIONS_THERE)))  # first: who comes meanwhile has not vanished
    there = present(client)
    return there, announced - {worker.incarnation for worker in there}


def forget(client: redis.Redis, incarnations: Collection[str], now: float) -> None:
    """Let incarnations no longer count as vanished, once that was noticed `NOTICED_FOR` seconds ago.

    A worker that is started again under its name at once, as in a container, is missed while what it had is younger
    than what is looked for: so it is looked for more than once.
    """
    if not incarnations:
        return
    client.zadd(VANISHED, dict.fromkeys(incarnations, now), nx=True)
    long_gone = [str(incarnation) for incarnation in client.zrangebyscore(VANISHED, "-inf", now - NOTICED_FOR)]
    if long_gone:
        with client.pipeline() as step:
            step.srem(INCARNATIONS_THERE, *long_gone)
            step.zrem(VANISHED, *long_gone)
            step.execute()


def shorten_presences(client: redis.Redis) -> None:
    """Let no worker be there for longer than `LIFETIME` from now on, unless it says so again.

    Redis forgets at a point in time: when its clock has gone back, one that was killed would be there until then.
    """
    for key in client.scan_iter(PREFIX + "*", count=1000):
        if client.ttl(key) > LIFETIME:
            client.expire(key, LIFETIME)


def present(client: redis.Redis) -> list[Presence]:
    """The workers that are there, by name; one that this release cannot read is left out."""
    keys = sorted(map(str, client.scan_iter(PREFIX + "*", count=1000)))
    found = []
    for key, text in zip(keys, client.mget(keys) if keys else [], strict=True):
        if text:
            try:
                found.append(Presence.model_validate_json(text))
            except ValidationError as error:
                log.warning("What worker %r tells of itself cannot be read: %s", key.removeprefix(PREFIX), error)
    return found


def require_same_secret(client: redis.Redis, signer: Signer) -> None:
    """Raises `BadInput` where this process and a worker that is there do not take each other's messages."""
    own = signer.fingerprints
    for other in present(client):
        if not other.secrets:
            continue
        takes_theirs, is_taken = other.secrets[0] in own, own[0] in other.secrets
        if not takes_theirs and not is_taken:
            raise BadInput(
                f"The worker {other.node!r} on the same Redis has another secret, so it and this one would refuse each "
                "other's messages. Set MEMSHARE_SECRET, or MEMSHARE_SECRET_FILE, to the same for every worker."
            )
        if not takes_theirs or not is_taken:
            refuses = (
                f"{other.node!r} would refuse what this one signs"
                if takes_theirs
                else (f"this one would refuse what {other.node!r} signs")
            )
            raise BadInput(
                f"The secret is being replaced, and not in order: the worker {refuses}. Set MEMSHARE_SECRET to OLD,NEW "
                "and restart every worker; only then to NEW,OLD for every worker; and at last, once the queues are "
                "empty, to NEW."
            )


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
    # Data of a part above: the roster is read here, and no code of the agents is imported.
    bundled = Path(str(files("memshare_agents"))) / "roster"
    found = [file for folder in (bundled, agents_dir) if folder for file in folder.glob("*.toml")]
    return {file.stem: file for file in found if not file.name.endswith(".rubric.toml")}


def read_card(name: str, agents_dir: Path | None) -> AgentCard | None:
    """Card of an agent, with the facts that clients need, read from its file now; None where there is no such file."""
    file = agent_files(agents_dir).get(name)
    if file is None:
        return None
    found = load(file, _AgentFile)
    return AgentCard(name=name, **dict(found) | {"kinds": tuple(found.kinds)})
