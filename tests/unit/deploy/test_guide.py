"""The guide names what there is."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
import typer

from memshare.cli.main import app, load
from memshare_broker import redis_server
from memshare_broker.connection import connect
from tests.faults.scenarios import SCENARIOS
from tests.unit.deploy.chart import DEPLOY
from tests.unit.deploy.queries import rules
from tests.unit.deploy.test_compose import workers

GUIDE = (DEPLOY / "README.md").read_text(encoding="utf-8")


def block(words: str) -> str:
    """The one block of shell commands that has these words."""
    [found] = [one for one in re.findall(r"```sh\n(.*?)```", GUIDE, re.S) if words in one]
    return found


def commands(group: typer.core.TyperGroup, before: str = "") -> set[str]:
    """Every command and group, by the words that call it."""
    found: set[str] = set()
    for name, command in group.commands.items():
        found.add(before + name)
        if isinstance(command, typer.core.TyperGroup):
            found |= commands(command, f"{before}{name} ")
    return found


def test_every_link_leads_to_a_file() -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", GUIDE)

    assert len(links) > 5
    for link in links:
        assert (DEPLOY / link).exists(), link


def test_every_test_that_is_said_to_have_seen_a_claim_is_there() -> None:
    [table] = re.findall(r"^\| claim \|.*?\n\n", GUIDE, re.M | re.S)
    named = re.findall(r"`(tests/[\w/*.]+)`", table)
    faults = {
        one for some in re.findall(r"tests\.faults --only ([^`]+)", table) for one in re.findall(r'"([^"]+)"', some)
    }

    assert len(named) > 20
    for pattern in named:
        assert list(DEPLOY.parent.glob(pattern)), pattern
    assert faults
    assert faults <= {scenario.name for scenario in SCENARIOS}


def test_every_command_that_the_guide_and_the_alerts_name_is_there() -> None:
    known = commands(typer.main.get_command(app))
    texts = [GUIDE, *(rule["annotations"]["action"] for rule in rules())]
    named = {one for text in texts for one in re.findall(r"(?:`|^)memshare ((?:[a-z]+ ?){1,2})", text, re.M)}

    assert len(named) > 5
    for words in named:
        first, _, second = words.strip().partition(" ")
        assert first in known, words
        if any(one.startswith(f"{first} ") for one in known) and second:
            assert f"{first} {second}" in known, words


def test_the_backup_of_containers_uses_services_and_options_that_there_are() -> None:
    script = block("memshare backup")

    for profile in ("embedded", "qdrant"):
        asked = set(re.findall(r"(?:exec|run)(?: --?\S+(?: sh)?)* (memory)\b", script))
        assert asked <= workers(profile).keys()
    for words in (["backup", "/tmp/b.zip"], ["restore", "--replace", "--yes", "/tmp/b.zip"]):
        assert " ".join(["memshare", *words[:-1], "/tmp/backup.zip"]) in script
        load(words[0]).make_context(words[0], words[1:])  # raises for an option that there is not


def test_the_passwords_of_compose_reach_the_commands_of_this_machine(tmp_path: Path) -> None:
    example = (DEPLOY / "compose" / ".env.example").read_text()
    with_redis = example.replace("REDIS_PASSWORD=", "REDIS_PASSWORD=secret")
    (tmp_path / ".env").write_text(with_redis.replace("MEMORY_TOKEN=", "MEMORY_TOKEN=token"))
    lines = [line for line in block("export MEMSHARE_REDIS_URL").splitlines() if not line.startswith("memshare ")]

    script = "\n".join([*lines, "env"])
    said = subprocess.run(["sh", "-euc", script], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert "MEMSHARE_REDIS_URL=redis://:secret@127.0.0.1:6379/0\n" in said
    assert "MEMSHARE_MEMORY_URL=http://127.0.0.1:8077\n" in said
    assert "MEMSHARE_MEMORY_TOKEN=token\n" in said


def test_a_dump_is_restored_into_a_redis_that_is_append_only(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    with running(old) as client:
        client.set("open", "a task")
        client.save()
    with running(new) as client:
        client.set("later", "is to be gone")
        (new / "redis" / "restore.rdb").write_bytes((old / "redis" / "dump.rdb").read_bytes())
        script, _, end = block("appendonly.aof.manifest").partition("valkey-cli ")
        subprocess.run(["sh", "-euc", script.replace("/data", str(new / "redis"))], check=True)
        assert end.startswith("shutdown")  # as `running` ends it

    with running(new) as client:
        assert client.keys() == ["open"]
        assert client.config_get("appendonly") == {"appendonly": "yes"}


@contextmanager
def running(data: Path) -> Iterator[redis.Redis]:
    """An append-only Redis while the block runs; then it is shut down."""
    process = redis_server.start(data)
    try:
        with connect(redis_server.socket_url(data)) as client:
            yield client
    finally:
        process.terminate()
        process.wait(10)
