"""The unit of systemd: what it starts is there, it ends in time, and Redis outlives the workers."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from memshare.cli.main import app
from memshare_broker.settings import Settings
from tests.unit.deploy.chart import DEPLOY

UNIT = DEPLOY / "systemd" / "memshare.service"
GUIDE = (DEPLOY / "README.md").read_text(encoding="utf-8")


def options() -> dict[str, list[str]]:
    """Every option of the unit with its values."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", UNIT.read_text(encoding="utf-8"), re.M):
        found.setdefault(name, []).append(value)
    return found


def seconds(text: str) -> float:
    [(number, unit)] = re.findall(r"^(\d+)(s|min)?$", text)
    return float(number) * (60 if unit == "min" else 1)


def test_it_starts_a_command_that_there_is_in_the_folder_of_its_state() -> None:
    unit = options()
    [command] = unit["ExecStart"]
    _, *words = shlex.split(command)
    environment = dict(one.split("=") for one in " ".join(unit["Environment"]).split())

    main = typer.main.get_command(app)
    assert isinstance(main, typer.core.TyperGroup)
    name, up, rest = main.resolve_command(main.make_context("memshare", words, resilient_parsing=True), words)
    assert name == "up"
    assert up is not None
    assert up.make_context("up", rest).params["flower_port"] == 0  # its password would stand in the journal
    assert environment["MEMSHARE_DATA"] == f"/var/lib/{unit['StateDirectory'][0]}" == environment["HOME"]
    assert unit["WorkingDirectory"] == [environment["MEMSHARE_DATA"]]


def test_it_waits_for_what_up_waits_for_and_only_up_is_told_to_end() -> None:
    unit, grace = options(), Settings(model="offline").grace

    assert unit["Type"] == ["notify"]
    assert unit["KillMode"] == ["mixed"]
    assert seconds(unit["TimeoutStopSec"][0]) >= 2 * (grace + 10) + 3 * 10
    assert unit["TimeoutStartSec"] == ["infinity"]
    assert unit["Restart"] == ["on-failure"]


def test_it_still_sees_who_asks_and_writes_in_its_folder_alone() -> None:
    unit = options()

    assert unit["ProtectSystem"] == ["strict"]
    assert "ReadWritePaths" not in unit
    assert "ProcSubset" not in unit  # it would hide /proc/net, by which other users of the machine are refused


def test_the_guide_installs_it_where_it_looks_for_its_parts() -> None:
    unit = options()
    program = shlex.split(unit["ExecStart"][0])[0]

    for there in (program.removesuffix("/bin/memshare"), unit["EnvironmentFile"][0].removeprefix("-"),
                  f"--home-dir /var/lib/memshare {unit['User'][0]}", "deploy/systemd/memshare.service"):  # fmt: skip
        assert there in GUIDE, there


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_finds_nothing_wrong_with_it(tmp_path: Path) -> None:
    there = str(Path(sys.executable).with_name("memshare"))

    def verified(text: str) -> subprocess.CompletedProcess[str]:
        copy = tmp_path / "memshare.service"
        copy.write_text(text.replace("/opt/memshare/bin/memshare", there), encoding="utf-8")
        command = ["systemd-analyze", "verify", "--man=no", str(copy)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    text = UNIT.read_text(encoding="utf-8")
    done = verified(text)

    assert (done.returncode, done.stderr) == (0, "")
    assert "RestrictSUID" in verified(text.replace("RestrictSUIDSGID=", "RestrictSUID=")).stderr
