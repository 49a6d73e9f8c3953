"""A backup is made while tasks keep coming, and restored beside into an empty folder, where it goes on."""

from __future__ import annotations

import tempfile
from pathlib import Path

from memshare.operate.backup.archive import open_archive
from memshare.operate.backup.make import make
from memshare.operate.backup.restore import restore
from memshare.operate.data_folder import connected
from memshare_broker.delivery.schema import JOURNEY
from memshare_broker.settings import Settings
from memshare_memory.stores.store import Where
from tests.faults.cluster import Cluster, Setup, cluster
from tests.faults.count import count
from tests.faults.run import Result
from tests.faults.verdict import failings

BACKUPS = 3
ENDED_WITHIN = 300.0  # seconds
LONGEST_WAIT = 5.0  # seconds for which nobody may write


def back_up_and_restore(made: Cluster, size: float) -> int:
    """Counts the backups that were right: restored, all that was open in them ends, and nothing is lost or twice."""
    setup = Setup(latency=0.05, embedded=True, short=size < 1, together=size < 1)
    return sum(_one(made, setup) for _ in range(max(1, round(BACKUPS * size))))


def _one(made: Cluster, setup: Setup) -> bool:
    folder = Path(tempfile.mkdtemp(prefix="restored-", dir=made.settings.data))
    file = folder / "backup.zip"
    told = make(made.client, made.direct, file, lambda *_: None, "faults")
    assert told.pool_waited < LONGEST_WAIT, told
    settings = Settings(data=folder / "data", model=made.settings.model)
    with open_archive(file) as archive, connected(settings) as direct:
        restore(settings, direct, archive, file, lambda *_: None, replace=False)
    with cluster(settings.data, setup, None) as restored:
        assert restored.wait_for(lambda: restored.open_messages() == 0, ENDED_WITHIN), "not every message ended"
        direct = restored.direct
        journeys = [str(name) for name in direct.scan_iter(JOURNEY + "*", count=1000)]
        known = [one.removeprefix(JOURNEY) for one in journeys if direct.hexists(one, "task")]  # no lesson's own
        memories = list(restored.client.memories.every(Where()))
        result = Result("restored", count=count(restored.client, direct, known, memories), in_flight=1, recovered=0.0)
    assert not failings(result), (failings(result), str(folder))
    return bool(memories and known)
