"""What the command line says where its input is closed, or its output takes nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support.terminal import Terminal

MEMSHARE = (sys.executable, "-m", "memshare")


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    environment = os.environ | {"MEMSHARE_DATA": str(tmp_path)}
    return partial(subprocess.run, env=environment, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "words", [("submit", "poem", "-"), ("submit", "poem", "--messages", "-"), ("evaluate", "bias")]
)
def test_a_closed_input_is_an_empty_one(run: Callable[..., subprocess.CompletedProcess[str]], words: list[str]) -> None:
    said = run([*MEMSHARE, *words], capture_output=True, preexec_fn=partial(os.close, 0))

    assert said.returncode == 2
    assert said.stderr.startswith("memshare: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_an_output_without_room_is_said_in_a_line(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    with Path("/dev/full").open("w") as full:
        said = run([*MEMSHARE, "--help"], stdout=full, stderr=subprocess.PIPE)

    assert said.returncode == 1
    assert said.stderr == "memshare: There is no room for what is written: No space left on device.\n"


def test_its_version_is_that_of_the_package(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    assert run([*MEMSHARE, "--version"], capture_output=True).stdout == f"memshare {version('memshare')}\n"


@pytest.mark.parametrize("option", ["--port", "--flower-port"])
def test_a_port_that_there_is_not_is_refused(run: Callable[..., subprocess.CompletedProcess[str]], option: str) -> None:
    said = run([*MEMSHARE, "up", option, "99999"], capture_output=True)

    assert said.returncode == 2
    assert f"Invalid value for '{option}'" in said.stderr


EVERY_HELP = """
import sys
from memshare.cli.main import COMMANDS, load
from memshare.cli.main import main
for name in COMMANDS:
    for words in [[name], *([name, one] for one in getattr(load(name), "commands", ()))]:
        sys.argv = ["memshare", *words, "--help"]
        try:
            main()
        except SystemExit as end:
            assert not end.code, words
"""


def test_the_help_of_every_command_can_be_written_in_an_encoding_of_few_characters(
    run: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "80"}

    said = run([sys.executable, "-c", EVERY_HELP], env=environment, capture_output=True, encoding="ascii")

    assert said.returncode == 0, said.stderr
    assert said.stdout.count("Usage: ") > 60
    assert {"phoenix", "openai-evals", "preference", "any", "credibility"} <= {*re.split(r"[ <>\n]+", said.stdout)}
    assert "completion" not in said.stdout, "it would not work in groups"
    assert "[default: MEMSHARE_DATA with -demo" in " ".join(re.sub(r"[^\x20-\x7e]|\|", " ", said.stdout).split())


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--help",), 0),
        (("--version",), 0),
        (("nothing",), 2),
        (("agents",), 1),
        (("memories", "list", "--pool", "café→"), 1),
        (("submit", "poem", "–", "--kind"), 2),
        (("rubric", "show", "poem"), 0),
        (("rubric", "show", "poem", "--json"), 0),
        (("rubric", "show", "→🍸"), 2),
        (("trace", "🍸"), 1),
        (("retriever", "consolidate"), 2),  # what a process of its own says, which names the folder
        (("memories", "search", "🍸", "--since", "→"), 2),
    ],
)
def test_a_command_ends_in_any_encoding_as_in_one_of_all_characters(
    tmp_path: Path, words: list[str], code: int, encoding: str
) -> None:
    said = Terminal(tmp_path / "café→").encoded(encoding, *words, code=code)

    assert said.stdout or said.stderr
    if "--json" in words:
        assert json.loads(said.stdout)["criteria"]
        assert said.stdout.isascii() or encoding == "utf-8"
