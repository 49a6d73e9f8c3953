"""The help lists every command as its module describes it, without importing that module."""

import inspect
import json
import subprocess
import sys
from importlib import import_module

import pytest

from memshare.cli.main import COMMANDS, load
from tests.support.deployment import ROOT

LOADED = "print(json.dumps(sorted(sys.modules)))"


def modules_after(code: str) -> set[str]:
    """The modules that a new Python has imported after some code."""
    program = [sys.executable, "-c", f"import json, sys\n{code}\n{LOADED}"]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_in_the_help_is_the_commands_own(name: str) -> None:
    command = load(name)

    assert command.name == name
    assert command.help is not None
    assert COMMANDS[name].help == inspect.cleandoc(command.help).partition("\n\n")[0].replace("\n", " ")


def test_the_help_has_its_commands_in_groups() -> None:
    program = [sys.executable, "-m", "memshare", "--help"]
    shown = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout

    headings = [line.split()[1] for line in shown.splitlines() if line.startswith("╭─")]
    assert headings == ["Options", "Begin", "Ask", "Curate", "Learn", "Run"]
    assert all(f"│ {name} " in shown for name in COMMANDS)


def test_every_module_in_the_rooms_of_commands_is_listed_or_imported_by_another() -> None:
    cli = ROOT / "src" / "memshare" / "cli"
    listed = {command.target.partition(":")[0] for command in COMMANDS.values()}
    texts = {f"{file.parent.name}.{file.stem}": file.read_text("utf-8") for file in cli.glob("*/*.py")}

    assert listed <= set(texts)
    for name in set(texts) - listed:
        if not name.endswith("__init__"):
            assert any(f"memshare.cli.{name} " in text for text in texts.values()), name


def test_the_help_imports_no_command_no_celery_and_no_redis() -> None:
    code = "from memshare.cli.main import app\ntry: app(['--help'])\nexcept SystemExit: pass"

    loaded = modules_after(code)

    assert "memshare.cli.main" in loaded
    assert {name for name in loaded if name.startswith("memshare.cli.")} == {"memshare.cli.main"}
    assert not {"celery", "redis", "pydantic", "memshare.client.client"} & loaded


def test_a_command_imports_no_other_one() -> None:
    loaded = modules_after("from memshare.cli.main import load\nload('agents')")

    assert {name for name in loaded if name.startswith("memshare.cli.")} == {
        "memshare.cli.main",
        "memshare.cli.run",
        "memshare.cli.run.status",
        "memshare.cli.operating",
        "memshare.cli.options",
    }


def test_importing_memshare_imports_nothing_until_a_name_is_asked_for() -> None:
    assert {name for name in modules_after("import memshare") if name.startswith("memshare.")} == set()
    assert "memshare.client.client" not in modules_after("from memshare import BadInput")
    assert "memshare.client.client" in modules_after("from memshare import Client")


def test_memshare_exports_its_client_and_its_errors() -> None:
    package = import_module("memshare")

    for name in package.__all__:
        assert getattr(package, name).__name__ == name
    assert dir(package) == sorted(package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Clyent'"):
        package.Clyent  # noqa: B018
