"""What runs on one machine: who can reach Flower, and how much the scorer does at a time."""

import subprocess
from pathlib import Path

import pytest

from memshare.operate.supervisor import Child, Supervisor, is_loopback
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings, load_settings


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.7", False),
        ("", False),
        ("flower.example.org", False),
    ],
)
def test_only_loopback_addresses_are_reached_from_this_machine_alone(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone


def test_flower_for_other_machines_needs_a_password(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"'0\.0\.0\.0'.*MEMSHARE_FLOWER_AUTH=USER:PASSWORD"):
        Supervisor(Settings(data=tmp_path), flower_port=5555, flower_host="0.0.0.0")

    Supervisor(Settings(data=tmp_path, flower_auth="me:secret"), flower_port=5555, flower_host="0.0.0.0")
    Supervisor(Settings(data=tmp_path), flower_port=None, flower_host="0.0.0.0")


def test_the_scorer_keeps_up_with_all_agents_unless_the_number_of_tasks_was_set(tmp_path: Path) -> None:
    assert Supervisor(Settings(data=tmp_path), agents=1).scorer_tasks == 64
    assert Supervisor(Settings(data=tmp_path), agents=3).scorer_tasks == 192
    assert Supervisor(Settings(data=tmp_path), agents=100).scorer_tasks == 500
    assert Supervisor(Settings(data=tmp_path, concurrency=4), agents=3).scorer_tasks is None


@pytest.mark.parametrize("login", ["secret", "me:", ":secret", "me:se,cret"])
def test_a_login_that_flower_could_not_use_is_refused_and_not_told(login: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSHARE_FLOWER_AUTH", login)

    with pytest.raises(BadInput, match="USER:PASSWORD") as refused:
        load_settings()

    assert login not in str(refused.value)


def test_a_start_says_that_the_encoder_is_exported_and_nothing_of_the_start_before(tmp_path: Path) -> None:
    log = tmp_path / "memory.log"
    log.write_text("Exporting the encoder old, once: this takes seconds to minutes.\n")
    lamp, found = "Exporting the encoder lamp, once: this takes seconds to minutes.", []
    for said in (lamp, ""):
        starting = Supervisor(Settings(data=tmp_path))
        with log.open("ab") as file, subprocess.Popen(["true"]) as process:
            starting.children.append(Child("memory", lambda: process, log))
            file.write(said.encode())
        found.append((starting.doing, starting.children[0].last_line))

    assert found == [(lamp.rstrip("."), lamp), ("Starting", "no output, as on a full disk.")]
