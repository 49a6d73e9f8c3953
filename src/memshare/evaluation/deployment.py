"""A deployment of an experiment's own: Redis, a pool and a worker for all queues, in its folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from memshare.client.client import Client
from memshare.evaluation.request import ExperimentRequest, roster_of
from memshare.evaluation.variants import Setup, write_variants
from memshare.operate.child import environment_of
from memshare.operate.supervisor import Supervisor, supervised
from memshare_broker.settings import Settings, load_settings

ELSEWHERE = (
    "MEMSHARE_REDIS_URL", "MEMSHARE_QDRANT_URL", "MEMSHARE_MEMORY_URL", "MEMSHARE_ENCODERS", "MEMSHARE_DOCUMENTS",
)  # fmt: skip
KEEP_DAYS = 3650  # an experiment can be gone on with as long as its folder is there


@contextlib.contextmanager
def deployment(
    request: ExperimentRequest, settings: Settings, folder: Path, thresholds: Mapping[str, float]
) -> Iterator[tuple[Client, Supervisor]]:
    """Everything up for as long as the block runs, with the copies of the agents that the experiment needs."""
    folder = folder.absolute()
    write_agents(request, settings, folder, thresholds)
    with environment_for(folder, request, settings):
        own = load_settings()
        with supervised(own) as supervisor, contextlib.closing(Client(own)) as client:
            yield client, supervisor


def write_agents(request: ExperimentRequest, settings: Settings, folder: Path, thresholds: Mapping[str, float]) -> None:
    """Write the copies of the agents; see `write_variants`."""
    setups = [
        Setup(label, model, number)
        for label in request.experiment.labels(len(request.models))
        for number, model in enumerate(request.models)
    ]
    write_variants(folder / "agents", settings.agents_dir, list(roster_of(request, settings)), setups, thresholds)


@contextlib.contextmanager
def environment_for(folder: Path, request: ExperimentRequest, settings: Settings) -> Iterator[None]:
    """The settings that workers find: the user's, but for where things are and for what would blur a comparison."""
    before = dict(os.environ)
    own = environment_of(settings)
    os.environ.clear()
    os.environ.update({name: value for name, value in own.items() if name not in ELSEWHERE})
    os.environ |= {
        "MEMSHARE_DATA": str(folder / "data"),
        "MEMSHARE_EXPORTS": str(settings.exports_dir),
        "MEMSHARE_AGENTS_DIR": str(folder / "agents"),
        "MEMSHARE_MODEL_AGENTS": request.models[0],
        "MEMSHARE_KEEP_DAYS": str(KEEP_DAYS),
        "MEMSHARE_KEEP_TRACES_DAYS": str(KEEP_DAYS),
        "MEMSHARE_SUBMITTER_SHARE": "1",
        "MEMSHARE_QUEUE_LIMIT": "0",
        "MEMSHARE_CONCEPTS": "false",  # no experiment is about them, and each memory would cost one more call
        "MEMSHARE_CONCEPTS_WAIT": "0",  # a memory is compared before the next one comes
        "MEMSHARE_LEARN": str(request.learning).lower(),
    }
    if request.documents:
        os.environ["MEMSHARE_DOCUMENTS"] = request.documents
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
