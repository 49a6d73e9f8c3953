"""What people decided on concepts goes with the last memory that had them, and a purged person is not named in it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import redis

from memshare.operate.backup.archive import lasts
from memshare_concepts.decisions import Decisions, Merge
from memshare_memory.curate.requests import Forget
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from memshare_memory.people import DISMISSED, MERGES
from tests.support.memories import remembered

AT = datetime(2026, 5, 1, tzinfo=UTC)


def about(topic: str, *subjects: str) -> Memory:
    concepts = {"-1": subjects, "0": (topic,)}
    return remembered(f"What is {topic}?", pool="physics", submitter="bob", concepts=concepts)[0]


@pytest.fixture
def decisions(redis_client: redis.Redis) -> Decisions:
    """Two merges and two dismissed gaps by Ada, one of each on what a single memory of Bob's is about."""
    found = Decisions(redis_client, "physics")
    found.merge(Merge(of="Light Quantum", into="Photon", at=AT, by="ada"))
    found.merge(Merge(of="Secret Lamp", into="Lamp", at=AT, by="ada"))
    found.dismiss("unexplained:photon", ("Photon",), AT, "ada")
    found.dismiss("unexplained:secret lamp", ("Secret Lamps",), AT, "ada")
    return found


def test_decisions_on_concepts_that_no_memory_has_any_more_are_purged(
    memory: MemoryClient, decisions: Decisions
) -> None:
    secret, known = about("Secret Lamp", "Photon", "Lamp"), about("Light Quantum", "Photon", "Lamp")
    memory.restore([secret, known])

    memory.forget(Forget(ids=(secret.id,)))
    assert len(decisions.aliases().merges()) == len(decisions.dismissed()) == 2  # it can still be restored
    memory.purge(Forget(ids=(secret.id,)))

    assert [merge.of for merge in decisions.aliases().merges()] == ["Light Quantum"]
    assert [record.names for record in decisions.dismissed().values()] == [("Photon",)]
    assert decisions.split("Light Quantum").into == "Photon"


def test_who_decided_is_forgotten_with_the_person(memory: MemoryClient, decisions: Decisions) -> None:
    memory.restore([about("Light Quantum", "Photon", "Lamp", "Secret Lamp")])

    memory.purge(Forget(submitter="ada"))

    assert [(merge.of, merge.by) for merge in decisions.aliases().merges()] == [
        ("Light Quantum", "anonymous"),
        ("Secret Lamp", "anonymous"),
    ]
    assert {record.by for record in decisions.dismissed().values()} == {"anonymous"}
    assert decisions.split("Secret Lamp").of == "Secret Lamp"
    assert len(decisions.aliases().merges()) == 1


def test_a_backup_has_the_decisions() -> None:
    assert lasts(MERGES + "physics")
    assert lasts(DISMISSED + "physics")
