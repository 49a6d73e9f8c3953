"""What people decide, by `Memory` on a real `memshare serve`: conflicts, the trash, budgets."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
import redis

from memshare import BadInput, Forbidden, Memory, NotFound
from memshare.operations.backend import Backend
from memshare_llm.limits.budget import Cap, Holder
from memshare_memory.contradictions import Conflicts
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.client import MemoryClient


def two(memory: MemoryClient, pool: str) -> tuple[UUID, UUID]:
    new = [NewMemory(pool=pool, prompt="How high is it?", answer=f"{n} m.", new_pool=True) for n in (3, 4)]
    first, second = memory.add(new)
    return first, second


def test_a_conflict_is_listed_and_decided(client: Memory, memory: MemoryClient, redis_client: redis.Redis) -> None:
    first, second = two(memory, "logic")
    other, _ = two(memory, "poem")
    Conflicts(redis_client).judge("logic", first, second, "contradict", "3 m against 4 m")

    [found] = client.conflicts.list()
    assert {one.memory.id for one in found.memories} == {first, second}
    assert found.claims == "3 m against 4 m"
    assert client.conflicts.list(pool="poem") == []

    decided = client.conflicts.decide((first, second), contradict=False)
    assert decided.memories == (first, second)
    assert client.conflicts.list() == []
    client.conflicts.decide((first, second), contradict=True)
    assert len(client.conflicts.list(pool="logic")) == 1
    with pytest.raises(BadInput, match="one pool"):
        client.conflicts.decide((first, other), contradict=True)


def test_what_was_forgotten_is_listed_and_brought_back(client: Memory, shelf: dict[str, str]) -> None:
    before = client.memories.get(shelf["logic"]).memory
    for one in shelf.values():
        client.memories.forget(one)

    page = client.trash.list(limit=1)
    assert (page.total, len(page.memories)) == (2, 1)
    assert client.trash.restore(shelf["logic"]).restored == (before.id,)

    assert client.memories.get(shelf["logic"]).memory == before
    assert [one.memory.pool for one in client.trash.list().memories] == ["poem"]
    assert client.trash.list(submitter="nobody").total == 0
    with pytest.raises(NotFound):
        client.trash.restore(shelf["logic"])


def test_a_token_decides_for_its_own_pools_alone(
    client: Memory, url: str, backend: Backend, memory: MemoryClient, shelf: dict[str, str]
) -> None:
    client.memories.forget(shelf["poem"])
    client.memories.forget(shelf["logic"])
    first, second = two(memory, "poem")
    reader = backend.tokens.create("reader", ("recall",), ("logic",))
    curator = backend.tokens.create("curator", ("curate", "recall"), ("logic",))

    with Memory(url, curator) as own:
        assert [one.memory.pool for one in own.trash.list().memories] == ["logic"]
        assert own.trash.list().total == 1
        with pytest.raises(NotFound):
            own.trash.restore(shelf["poem"])
        with pytest.raises(NotFound):
            own.conflicts.decide((first, second), contradict=True)
        with pytest.raises(NotFound):
            own.conflicts.list(pool="poem")
        assert own.trash.restore(shelf["logic"]).restored == (UUID(shelf["logic"]),)
    with Memory(url, reader) as own:
        assert own.conflicts.list() == []
        with pytest.raises(Forbidden, match="curate"):
            own.trash.list()
        with pytest.raises(Forbidden, match="curate"):
            own.conflicts.decide((first, second), contradict=True)


def test_a_token_is_told_its_own_budget_and_those_of_the_agents_of_its_pools(
    client: Memory, url: str, backend: Backend
) -> None:
    for kind, name in (("agent", "logic"), ("agent", "poem"), ("submitter", "ada"), ("submitter", "bob")):
        backend.budget.set(Holder(kind, name), Cap(tokens=100))

    assert {one.name for one in client.budgets.get().caps} == {"logic", "poem", "ada", "bob"}
    token = backend.tokens.create("ada", ("recall",), ("logic",))
    with Memory(url, token) as ada:
        told = ada.budgets.get()
    assert {(one.kind, one.name, one.tokens_left) for one in told.caps} == {
        ("agent", "logic", 100),
        ("submitter", "ada", 100),
    }
    assert told.models == {}


def test_one_rubric_is_read_by_its_name(client: Memory) -> None:
    assert client.rubric("logic").name == "logic"
    with pytest.raises(NotFound):
        client.rubric("no/such")


def test_a_rubric_is_approved_in_the_version_that_was_read(url: str, backend: Backend, tmp_path: Path) -> None:
    backend.settings = backend.settings.model_copy(update={"agents_dir": tmp_path})
    criteria = '[[criteria]]\nname = "right"\npoints = 100\ndescription = "It is right."\n'
    (tmp_path / "haiku.rubric.toml").write_text(f'domain = "Haiku"\nthreshold = 60.0\n{criteria}')

    with Memory(url) as here:
        draft = here.rubric("haiku")
        with pytest.raises(BadInput, match="'by'"):
            here.approve_rubric("haiku", draft.version)
        with pytest.raises(BadInput, match="bundled"):
            here.approve_rubric("poem", "x", by="Ada")
        with pytest.raises(BadInput, match="0000"):
            here.approve_rubric("haiku", "0000", by="Ada")
        assert not here.rubric("haiku").approved
    with Memory(url, backend.tokens.create("ada", ("admin",), None)) as ada:
        assert ada.approve_rubric("haiku", draft.version).approved
        assert ada.rubric("haiku") == draft.model_copy(update={"approved": True})
        assert not ada.withdraw_rubric("haiku").approved
        assert ada.withdraw_rubric("haiku") == ada.rubric("haiku") == draft
        with pytest.raises(BadInput, match="bundled"):
            ada.withdraw_rubric("poem")
        assert ada.approve_rubric("haiku", draft.version).approved
    assert 'by = "ada"' in (tmp_path / "haiku.rubric.toml").read_text()
