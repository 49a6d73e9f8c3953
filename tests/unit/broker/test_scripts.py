"""Scripts of Redis: their names, and every script and call of the tree."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from memshare_broker.scripts import Script

ROOT = Path(__file__).parents[3]
PARTS = ("agents", "broker", "concepts", "llm", "memory_service", "retriever_trainer", "scorer", "src")
OF_A_MESSAGE = {"id", "queue", "stage", "name", "keep", "agent"}  # are added by the ledger's `_run`

Writing = Callable[..., Script]


@pytest.fixture
def writing(tmp_path: Path) -> Writing:
    """Writes a script to a file."""

    def write(text: str, *before: Path, raw: bool = False, **constants: object) -> Script:
        name = f"script_{len(list(tmp_path.iterdir()))}"
        (tmp_path / f"{name}.lua").write_text(text)
        return Script(str(tmp_path / "module.py"), name, *before, raw=raw, **constants)

    return write


EVERY_TYPE = """-- Returns what it was given.
-- keys: first, second
-- arguments: words: list, text, count: number,
--   is_last: flag, pairs: list
return cjson.encode({first, second, text, count + 1, is_last, #words, words, #pairs, pairs, key.place, most})
"""


def test_a_script_has_each_name_with_its_type_and_its_constants(writing: Writing, redis_client: redis.Redis) -> None:
    script = writing(EVERY_TYPE, key={"place": "memshare:place"}, most=3)

    for is_last, words in ((True, ["a", "b"]), (False, [])):
        reply = script(
            redis_client, second="k2", first="k1", pairs=[1, "x"], words=words, text="Ω", count=0.5, is_last=is_last
        )

        said = "true" if is_last else "false"
        listed = '2,["a","b"]' if words else "0,{}"
        assert reply == f'["k1","k2","Ω",1.5,{said},{listed},2,["1","x"],"memshare:place",3]'


def test_a_long_list_comes_whole(writing: Writing, redis_client: redis.Redis) -> None:
    count = writing("-- arguments: words: list, after\nreturn {#words, words[#words], after}")

    assert count(redis_client, words=list(range(100_000)), after="x") == [100_000, "99999", "x"]


def test_what_stands_before_a_script_brings_its_arguments(
    writing: Writing, redis_client: redis.Redis, tmp_path: Path
) -> None:
    shared = tmp_path / "shared.lua"
    shared.write_text("-- arguments: by\nlocal function more(number) return number + tonumber(by) end")
    script = writing("-- arguments: number: number\nreturn more(number)", shared)

    assert script.source.names == {"by", "number"}
    assert script(redis_client, by=2, number=3) == 5


def test_replies_are_text_unless_they_are_raw(writing: Writing, redis_client: redis.Redis) -> None:
    said = "-- arguments: word\nreturn word"

    assert writing(said)(redis_client, word="ü") == "ü"
    assert writing(said, raw=True)(redis_client, word=b"\xff") == b"\xff"


def test_a_script_is_sent_once_and_known_from_then_on(writing: Writing, redis_client: redis.Redis) -> None:
    script = writing("-- arguments: word\nreturn word")
    redis_client.script_flush()
    redis_client.config_resetstat()

    for _ in range(3):
        script(redis_client, word="x")

    calls = {name: stats["calls"] for name, stats in redis_client.info("commandstats").items()}
    assert (calls["cmdstat_evalsha"], calls["cmdstat_eval"]) == (3, 1)
    assert "cmdstat_script|load" not in calls


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("-- arguments: word, other\nreturn word", "other"),
        ("-- keys: place\n-- place is of no use\nreturn 1", "place"),
        ("-- arguments: word\nreturn word .. ARGV[1]", "ARGV"),
        ("-- arguments: word: string\nreturn word", "string"),
        ("-- keys: word\n-- arguments: word\nreturn word", "word"),
    ],
)
def test_a_script_that_does_not_use_what_it_declares_is_refused(writing: Writing, text: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        _ = writing(text).source


@pytest.mark.parametrize("given", [{}, {"word": 1, "other": 2}, {"other": 1}])
def test_other_keywords_than_are_declared_are_refused(
    writing: Writing, redis_client: redis.Redis, given: dict[str, int]
) -> None:
    with pytest.raises(TypeError, match="word"):
        writing("-- arguments: word\nreturn word")(redis_client, **given)


def modules() -> Iterator[tuple[Path, str]]:
    for part in PARTS:
        folder = ROOT / part
        for file in folder.rglob("*.py"):
            yield file, ".".join(file.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")


@pytest.fixture(scope="module")
def scripts() -> dict[str, Script]:
    """Every script of the tree, by the name of the constant."""
    found: dict[str, Script] = {}
    for file, name in modules():
        if "Script(" in (text := file.read_text()) or "ledger_script(" in text:
            for constant, value in vars(importlib.import_module(name)).items():
                if isinstance(value, Script):
                    assert found.setdefault(constant, value) is value, f"two scripts are called {constant}"
    return found


def test_every_script_of_the_tree_uses_what_it_declares(scripts: dict[str, Script], redis_client: redis.Redis) -> None:
    there = {file for part in PARTS for file in (ROOT / part).rglob("*.lua")}

    assert {file for script in scripts.values() for file in script.files} == there
    for name, script in scripts.items():
        assert redis_client.script_load(script.source.text) == script.source.sha, name


def test_every_call_of_a_script_gives_what_that_declares(scripts: dict[str, Script]) -> None:
    called = set[str]()
    for file, _ in modules():
        for call in ast.walk(ast.parse(file.read_text())):
            match call:
                case ast.Call(func=ast.Name(id=name), keywords=keywords):
                    added = set[str]()
                case ast.Call(func=ast.Attribute(attr="_run"), args=[ast.Name(id=name), *_], keywords=keywords):
                    added = OF_A_MESSAGE
                case _:
                    continue
            if name in scripts:
                called.add(name)
                assert {one.arg for one in keywords} | added == scripts[name].source.names, f"{file}:{call.lineno}"
    assert called == scripts.keys()
