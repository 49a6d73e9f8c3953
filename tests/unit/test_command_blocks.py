"""Every command in the documentation is one that there is, with its options and arguments; and so is every import."""

from __future__ import annotations

import ast
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import flower.options  # noqa: F401  # it tells tornado which options Flower has
import pytest
import typer
from celery import Celery
from celery.bin.base import CLIContext
from celery.bin.celery import celery
from tornado.options import options as options_of_flower

from memshare.cli.main import app
from tests.support.deployment import ROOT
from tests.support.pages import BLOCKS, PAGES, Block

NAMED = re.compile(r"`((?:memshare|celery -A|python -m|make) [^`]+)`")
MEMSHARE = typer.main.get_command(app)
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def parts_of(script: str) -> Iterator[list[str]]:
    """The words of each command of a script, also of one that a comment gives as another way."""
    code = re.sub(r"(?:^|\s)#(?:.*\bor: (.*)|.*)$", r"\n\1", script.replace("\\\n", " "), flags=re.M)
    lexer = shlex.shlex(code, posix=True, punctuation_chars="|&;\n")
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t", "", True
    words: list[str] = []
    for word in [*lexer, "\n"]:
        if word.strip("|&;\n"):
            words.append(word)
            continue
        while words and re.match(r"[A-Z_]+=", words[0]):
            del words[0]
        if words[:1] in (["docker"], ["kubectl"]) and "exec" in words and "memshare" in words:
            words = words[words.index("memshare") :]
        if words:
            yield words
        words = []


def check_script(script: str, *, whole: bool) -> None:
    for words in parts_of(script):
        check(words, whole=whole)


def check(words: list[str], *, whole: bool) -> None:
    """Raise where a command is none that there is; `whole` where all that it needs has to be there."""
    match words:
        case ["memshare", *rest]:
            check_memshare(rest, whole=whole)
        case ["make", *rest]:
            targets = {one for one in rest if "=" not in one}
            assert targets <= set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))
            assert {one.partition("=")[0] for one in rest} - targets <= set(re.findall(r"\b([A-Z_]+)\b", MAKEFILE))
        case ["celery", "-A", module, "flower", *rest]:
            assert find_spec(module)
            assert all(one.lstrip("-").partition("=")[0] in options_of_flower for one in rest)
        case ["celery", "-A", module, name, *rest]:
            assert find_spec(module)
            context = CLIContext(Celery(), no_color=None, workdir=None)
            celery.commands[name].make_context(name, rest, obj=context)
        case ["python", "-m", module, *_]:
            assert find_spec(module)


def check_memshare(words: list[str], *, whole: bool) -> None:
    command: Any = MEMSHARE
    parent = None
    while isinstance(command, typer.core.TyperGroup):
        parent = command.make_context(None, [], parent=parent, resilient_parsing=True)
        if not words and not whole:
            return
        _, command, words = command.resolve_command(parent, words)
        assert command is not None
    if whole:
        command.make_context(None, words, parent=parent)
    else:
        known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help"}
        assert {one.partition("=")[0] for one in words if one.startswith("-")} <= known


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.script], ids=lambda block: block.place)
def test_every_command_of_a_block_is_there_with_its_options_and_arguments(block: Block) -> None:
    check_script(block.script, whole=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_sentence_names_is_there_with_its_options(page: Any) -> None:
    for named in NAMED.findall(page.read_text(encoding="utf-8")):
        check_script(named, whole=False)


@pytest.mark.parametrize(
    "wrong",
    [
        "memshare sumbit poem x",
        "memshare submit poem x --knid y",
        "memshare token create ada --may",
        "memshare memories show",
        "FOO=1 memshare worker poem --threads 3",
        "cd x && memshare concepts gap",
        "memshare up   # or: celery -A memshare.agent.worker worker",
        "celery -A memshare.worker work",
        "celery -A memshare.operate.flower flower --basic_aut=me:secret",
        "python -m benchmarks.nothing",
        "make picture",
        "docker compose exec serve memshare tokens list",
    ],
)
def test_a_command_that_is_not_there_is_found(wrong: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011  # of memshare, of Celery, or of an assertion
        check_script(wrong, whole=True)


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.language == "python"], ids=lambda block: block.place)
def test_python_compiles_and_its_imports_are_there(block: Block) -> None:
    tree = compile(block.text, block.place, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = import_module(node.module or "")
            assert all(hasattr(module, one.name) for one in node.names)


@pytest.mark.parametrize(
    "block", [one for one in BLOCKS if one.language in ("json", "toml")], ids=lambda block: block.place
)
def test_json_and_toml_are_read(block: Block) -> None:
    assert json.loads(block.text) if block.language == "json" else tomllib.loads(block.text)


def test_every_fence_is_the_end_or_the_beginning_of_a_block() -> None:
    for page in PAGES:
        fences = re.findall(r"^```", page.read_text(encoding="utf-8"), re.M)
        assert len(fences) == 2 * sum(block.page == page for block in BLOCKS), page


def test_a_test_that_runs_a_block_elsewhere_is_there() -> None:
    named = [one for block in BLOCKS for one in re.findall(r"\btests/[\w/.]+\.py", block.reason or "")]

    assert named
    assert all((ROOT / one).exists() for one in named)
