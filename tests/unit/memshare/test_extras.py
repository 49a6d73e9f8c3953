"""Without an extra's packages the client and the command line work; what needs them says which extra brings them."""

import subprocess
import sys

import pytest

from memshare.cli.main import COMMANDS
from memshare.extras import NeedsExtra, needs_extra, require
from tests.support.deployment import ROOT


def light(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of a memshare that was installed without extras."""
    program = [sys.executable, "-m", "tests.support.light_install", *arguments]
    return subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("arguments", "command", "extra"),
    [
        (["up"], "memshare up", "local"),
        (["evaluate", "all"], "memshare evaluate", "evaluate"),
        (["retriever", "status"], "memshare retriever", "trainer"),
        (["concepts", "show", "x"], "memshare concepts show", "concepts"),
        (["memories", "untidy", "--pool", "poem"], "memshare memories untidy", "concepts"),
        (["worker", "poem"], "memshare worker poem", "agents"),
        (["worker", "memory"], "memshare worker memory", "memory"),
    ],
)
def test_a_command_that_lacks_packages_says_in_one_line_which_extra_brings_them(
    arguments: list[str], command: str, extra: str
) -> None:
    done = light(*arguments)

    told = f"memshare: {command} needs more packages: pip install '.[{extra}]' where memshare was cloned.\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", told)


def ended(code: str) -> tuple[int, str]:
    """The status with which a Python of its own ends that runs this, and its errors."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_the_help_of_a_command_is_told_without_its_packages() -> None:
    done = light("report", "--help")

    assert (done.returncode, done.stderr) == (0, "")
    assert " ".join(COMMANDS["report"].help.split()[:4]) in done.stdout
    assert "the extra 'evaluate'" in " ".join(done.stdout.split())


def test_the_client_and_every_command_that_needs_no_extra_are_there_without_one() -> None:
    names = [name for name, command in COMMANDS.items() if command.extra is None]
    code = (
        "from tests.support.light_install import hide_extras; hide_extras()\n"
        "from memshare import Client; from memshare.cli.main import load\n"
        f"for name in {names}: load(name)"
    )

    status, errors = ended(code)
    assert "submit" in names
    assert status == 0, errors


def test_every_group_of_calls_of_the_client_is_there_without_an_extra() -> None:
    code = (
        "from tests.support.light_install import hide_extras; hide_extras()\n"
        "from memshare import AsyncMemory, Memory\n"
        "for one in (Memory, AsyncMemory):\n"
        "    memory = one('http://127.0.0.1:9')\n"
        "    for name in dir(memory): getattr(memory, name)\n"
        "print(memory.concepts, memory.needs)"
    )

    assert ended(code) == (0, "")


def test_rest_and_the_pages_take_the_extra_serve_alone() -> None:
    code = (
        "from memshare.extras import MODULES; from tests.support.light_install import hide\n"
        "hide({one for some in MODULES.values() for one in some} - {*MODULES['serve']})\n"
        "from pkgutil import iter_modules; from importlib import import_module\n"
        "import memshare.doors.server; from memshare.doors.pages import screens\n"
        "for one in iter_modules(screens.__path__, 'memshare.doors.pages.screens.'): import_module(one.name)"
    )

    assert ended(code) == (0, "")


def test_what_is_no_module_of_an_extra_is_another_error() -> None:
    assert (
        needs_extra("This", ModuleNotFoundError("No module named 'memshare.nothing'", name="memshare.nothing")) is None
    )
    assert needs_extra("This", ImportError("cannot import name 'OpenAI' from 'openai'", name="openai")) is None
    assert str(needs_extra("This", ModuleNotFoundError("No module named 'openai'", name="openai"))) == (
        "This needs more packages: pip install '.[agents]' where memshare was cloned."
    )


def test_where_everything_is_installed_nothing_is_missed() -> None:
    for extra in ("agents", "memory", "trainer", "metrics", "local", "evaluate"):
        require("This", extra)


def test_an_extra_needs_what_it_brings_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memshare.extras.find_spec", lambda module: None if module == "openai" else module)

    for extra in ("agents", "trainer", "local", "evaluate"):
        with pytest.raises(NeedsExtra, match=rf"\[{extra}\]"):
            require("This", extra)
    require("This", "memory")
