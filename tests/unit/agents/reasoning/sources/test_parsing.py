"""A page made to take hours, or all memory, costs the process that reads it and nothing else."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from memshare_agents.reasoning.sources import extract_text
from memshare_agents.reasoning.sources.extract_text import COMMAND, MOST_PROCESSES, parse
from memshare_broker import child_processes
from memshare_broker.child_processes import children_of
from memshare_broker.errors import GiveUp
from tests.support.deployment import wait_for

WELL = b"<html><head><title>The lamp</title></head><body><p>Ada Marsh lit it in 1874.</p></body></html>"
SIZE = 3_900_000


def filled(part: bytes, before: bytes = b"<html><body>") -> bytes:
    return before + part * ((SIZE - len(before)) // len(part))


BOMBS: dict[str, Callable[[], bytes]] = {
    "many attributes": lambda: b"<p " + b" ".join(b"a%d=''" % number for number in range(100_000)) + b">Ada</p>",
    "one long attribute": lambda: b"<p a='" + b"x" * SIZE + b"'>Ada</p>",
    "many styles": lambda: filled(b"<p style='display : none'>x"),
    "nested": lambda: filled(b"<div>"),
    "nested, with text": lambda: filled(b"<div>x"),
    "unclosed links": lambda: filled(b"<a>"),
    "links": lambda: filled(b"<a href=x>y</a>"),
    "tables": lambda: filled(b"<table>"),
    "tables with cells": lambda: filled(b"<table><tr><td>x"),
    "rows": lambda: filled(b"<tr><td>x", b"<html><body><table>"),
    "items": lambda: filled(b"<ul><li>x"),
    "spans": lambda: filled(b"<span>a ", b"<html><body><p>"),
    "titles": lambda: filled(b"<title>x"),
    "comments": lambda: filled(b"<!--"),
    "open tags": lambda: filled(b"<"),
    "entities": lambda: b"<!DOCTYPE x [" + b"".join(
        b'<!ENTITY e%d "%s">' % (number, b"&e%d;" % (number - 1) * 10 if number else b"lol") for number in range(12)
    ) + b"]><html><body><p>&e11;</p></body></html>",
    "references": lambda: filled(b"&amp;", b"<html><body><p>"),
    "no text at all": lambda: bytes(range(256)) * 15_000,
}  # fmt: skip


@pytest.fixture
def one_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is the same for every bomb; a second of it is as good as ten."""
    monkeypatch.setattr(extract_text, "SECONDS", {"html": 1.0, "pdf": 1.0})
    monkeypatch.setattr(extract_text, "PATIENCE", 12)


def parsing() -> list[psutil.Process]:
    """The processes that parse for this one."""
    found = []
    for one in psutil.Process().children():
        try:
            if "memshare_agents.reasoning.sources.parsing" in one.cmdline():
                found.append(one)
        except psutil.Error:  # it has just ended
            continue
    return found


def end_children() -> None:
    children_of(os.getpid(), COMMAND, MOST_PROCESSES).close()


def read(source: str, page: bytes) -> str:
    """The text of a page, or why it is not read."""
    try:
        return parse(source, page, "html", None, 1_000_000)[1]
    except GiveUp as error:
        return str(error)


@pytest.mark.usefixtures("one_second")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_in_time_and_the_next_page_is_read(name: str) -> None:
    own = psutil.Process().memory_info().rss
    bomb = BOMBS[name]()
    began = time.monotonic()

    said = read("bomb.html", bomb)
    assert "'bomb.html'" in said or len(said) <= 1_000_000
    assert time.monotonic() - began < 30, "a second of processor time, however busy the machine is"

    assert parse("lamp.html", WELL, "html", None, 1_000) == ("The lamp", "Ada Marsh lit it in 1874.")
    assert psutil.Process().memory_info().rss - own < 100_000_000


@pytest.mark.usefixtures("one_second")
def test_what_takes_too_long_is_named_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extract_text, "PATIENCE", 60)  # on a busy machine, a second of processor time comes late
    with pytest.raises(GiveUp, match=r"'slow\.html' takes more than 1 s of processor time"):
        parse("slow.html", BOMBS["many attributes"](), "html", None, 1_000)


def test_what_takes_too_much_memory_is_named_with_the_reason() -> None:
    with pytest.raises(GiveUp, match=r"'large\.html' takes more than 512 MB"):
        parse("large.html", BOMBS["unclosed links"](), "html", None, 1_000)


def test_a_process_that_is_killed_takes_its_page_with_it_and_no_other() -> None:
    parse("lamp.html", WELL, "html", None, 1_000)
    for one in parsing():
        one.kill()
        wait_for(lambda one=one: one.status() == psutil.STATUS_ZOMBIE, 10, "its end")

    with pytest.raises(GiveUp, match=r"'lamp\.html' could not be finished: .* ended with signal 9"):
        parse("lamp.html", WELL, "html", None, 1_000)

    assert parse("lamp.html", WELL, "html", None, 1_000)[0] == "The lamp"


@pytest.fixture
def soon_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that end at once when they have nothing to do."""
    command = (
        "from memshare_agents.reasoning.sources.parsing import read; "
        "import memshare_broker.child_processes as s; s.IDLE = 0.05; s.serve(read)"
    )
    end_children()
    monkeypatch.setattr(extract_text, "COMMAND", ("-c", command))


@pytest.mark.usefixtures("soon_idle")
def test_a_process_with_nothing_to_do_ends_and_another_one_is_started() -> None:
    parse("lamp.html", WELL, "html", None, 1_000)
    wait_for(lambda: not parsing(), 10, "its end")

    assert parse("lamp.html", WELL, "html", None, 1_000)[0] == "The lamp"


def test_what_takes_a_page_apart_knows_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    end_children()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefgh12345678")

    parse("lamp.html", WELL, "html", None, 1_000)

    [one] = parsing()
    assert "OPENAI_API_KEY" not in one.environ()


def test_many_threads_have_their_pages_read_by_a_few_processes() -> None:
    pages = [WELL.replace(b"1874", str(year).encode()) for year in range(1800, 1864)]

    with ThreadPoolExecutor(16) as threads:
        read = list(threads.map(lambda page: parse("lamp.html", page, "html", None, 1_000)[1], pages))

    assert read == [f"Ada Marsh lit it in {year}." for year in range(1800, 1864)]
    assert 1 <= len(parsing()) <= MOST_PROCESSES


def test_page_after_page_of_a_large_process_is_read_by_the_same_one() -> None:
    end_children()
    large = b"x" * child_processes.FRESH  # Linux counts it as the peak of what is started now

    for _ in range(2):
        parse("lamp.html", WELL, "html", None, 1_000)
        [one] = parsing()

    assert len(large) == child_processes.FRESH
    assert parse("lamp.html", WELL, "html", None, 1_000)[0] == "The lamp"
    assert parsing() == [one]


def test_a_process_ends_with_the_one_that_it_parses_for() -> None:
    reading, writing = os.pipe()
    parent = os.fork()
    if parent == 0:  # as a worker whose pool of tasks are processes
        text = parse("lamp.html", WELL, "html", None, 1_000)[0]
        [mine] = parsing()
        os.write(writing, f"{text} {mine.pid}".encode())
        signal.pause()
    title, _, pid = os.read(reading, 100).decode().rpartition(" ")
    os.close(reading)
    os.close(writing)
    orphan = psutil.Process(int(pid))

    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)

    assert title == "The lamp"
    assert psutil.wait_procs([orphan], timeout=10)[1] == []


def test_a_page_as_long_as_a_novel_takes_no_half_of_the_memory() -> None:
    words = b"<p>In the year %d the lighthouse of Lumen was lit by Ada Marsh, and it stands on a rock.</p>\n"
    novel = b"<html><body><main>" + b"".join(words % number for number in range(40_000)) + b"</main></body></html>"

    assert len(parse("novel.html", novel, "html", None, 1_000_000)[1]) == 1_000_000
    assert extract_text.MEMORY == 512 * 2**20
