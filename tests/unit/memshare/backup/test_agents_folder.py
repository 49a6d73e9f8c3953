"""Agents of a backup where their folder takes none, such as that of a container."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from memshare.operate.backup.archive import AGENTS, FORMAT, POOL, REDIS, Manifest, new_archive, open_archive
from memshare.operate.backup.restore import RestoredDeployment, overwritten, restore
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_broker.wire.signing import open_signer
from memshare_memory.encoders.encoder import BUNDLED
from memshare_memory.pool.known_pools import RESTORING
from memshare_memory.stores.edge_folder import lock


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


def restored(
    backup: Path, agents: Path, data: Path, client: redis.Redis, *, replace: bool = False
) -> RestoredDeployment:
    settings = Settings(data=data, agents_dir=agents)
    open_signer(settings, make=True)
    with open_archive(backup) as archive:
        return restore(settings, client, archive, backup, lambda *_: None, replace=replace)


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


def test_agents_that_are_overwritten_are_named_and_kept(
    backup: Path, tmp_path: Path, redis_client: redis.Redis
) -> None:
    there = tmp_path / "agents" / "haiku.toml"
    there.parent.mkdir()
    there.write_text("x = 2\n")
    with open_archive(backup) as archive:
        assert overwritten(Settings(agents_dir=there.parent), archive) == [there]

    done = restored(backup, there.parent, tmp_path / "data", redis_client, replace=True)

    assert there.read_text() == "x = 1\n"
    assert done.overwritten == [str(there)]
    assert done.aside is not None
    assert done.aside.name.startswith("before-restore-")
    assert (done.aside / "agents" / "haiku.toml").read_text() == "x = 2\n"


def test_the_pool_of_a_restore_that_was_killed_is_removed_unless_it_is_written_still(
    backup: Path, tmp_path: Path, redis_client: redis.Redis
) -> None:
    killed, at_work = (tmp_path / "data" / f"pool.new-20261128-22000{number}" for number in range(2))
    for folder in (killed, at_work):
        (folder / "engine").mkdir(parents=True)

    with lock(at_work):
        restored(backup, tmp_path / "agents", tmp_path / "data", redis_client)

    assert not killed.exists()
    assert at_work.exists()
