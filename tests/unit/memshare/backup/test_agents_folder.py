"""Agents of a backup where their folder takes none, such as that of a container."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from memshare.operate.backup.archive import AGENTS, FORMAT, POOL, REDIS, Manifest, new_archive, open_archive
from memshare.operate.backup.restore import RestoredDeployment, restore
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_broker.wire.signing import open_signer
from memshare_memory.encoders.encoder import BUNDLED
from memshare_memory.pool.known_pools import RESTORING


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    with new_archive(tmp_path / "backup.zip") as archive:
        archive.add(REDIS, [])
        archive.add(POOL, [])
        archive.add(f"{AGENTS}haiku.toml", [b"x = 1\n"])
        archive.finish(
            Manifest(format=FORMAT, made=1.7e9, encoder=BUNDLED, memories=0, by_pool={}, keys=0, parts=archive.parts)
        )
    return tmp_path / "backup.zip"


def restored(backup: Path, agents: Path, data: Path, client: redis.Redis) -> RestoredDeployment:
    settings = Settings(data=data, agents_dir=agents)
    open_signer(settings, make=True)
    with open_archive(backup) as archive:
        return restore(settings, client, archive, backup, lambda *_: None, replace=False)


def test_what_cannot_be_written_is_told_before_anything_is_changed(
    backup: Path, tmp_path: Path, redis_client: redis.Redis
) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(BadInput, match=r"haiku\.toml.*cannot be written"):
        restored(backup, tmp_path / "file" / "agents", tmp_path / "data", redis_client)

    assert not redis_client.exists(RESTORING)


def test_agents_that_are_there_already_are_not_written(backup: Path, tmp_path: Path, redis_client: redis.Redis) -> None:
    there = tmp_path / "agents" / "haiku.toml"
    there.parent.mkdir()
    there.write_text("x = 1\n")
    written = there.stat().st_mtime_ns

    done = restored(backup, there.parent, tmp_path / "data", redis_client)

    assert done.agents == [str(there)]
    assert there.stat().st_mtime_ns == written
