"""What the documentation has a reader type does what it says, as it stands there.

A page's blocks run in their order, each in a shell of its own, beside a `memshare up` with a model of rules.
"""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from memshare.cli.begin.demo_gain import write_agent
from memshare.demo.text_to_sql import read_questions
from memshare_broker.settings import Settings
from memshare_concepts.flashcards import flashcard_memories
from tests.promises.test_one_machine import free_port
from tests.support.deployment import ROOT, wait_for
from tests.support.pages import BLOCKS, PAGES, Block, blocks_of
from tests.support.terminal import Terminal, end

SERVICES = ("cluster.md", "watching.md")
"""Pages whose commands run until they are ended."""

READY = re.compile(r"@\S+ ready|Metrics on|Visit me")
SAME = ("concepts show", "concepts clusters", "concepts gaps", "concepts similar")
"""Commands that say the very words that the page shows, whatever the model."""

LEFT = {"begin.md": ("results.jsonl", "map.html")}
"""The files that a page's commands leave in the home."""

SECRET = "a-secret-of-32-characters-or-more"
WITHIN = 120  # seconds
OWL, MALLORY = (
    {"pool": "poem", "kind": "limerick", "prompt": f"A limerick about {what}", "answer": f"There once was {what}.",
     "submitter": submitter, "score": 90}
    for what, submitter in (("an owl", "ada"), ("an eel", "mallory"))
)  # fmt: skip
LONGEST = {
    "pool": "sql",
    "prompt": "Name the magnum opus of Zofia Wrobelska, if size is what counts.",
    "submitter": "ben",
    "answer": "SELECT books.title, books.pages FROM books JOIN authors ON authors.id = books.author_id"
    " WHERE authors.name = 'Zofia Wrobelska' ORDER BY books.pages DESC, books.title LIMIT 1",
}
FILES = {
    "answers.jsonl": [{"answer": "A heron stood still in the rain,\nAnd thought about fishing again."}],
    "pairs.jsonl": [{"prompt": "What has hands and claps for nobody?", "answer": "A clock."}],
    "tasks.jsonl": [{"agent": "poem", "prompt": "A limerick about a heron", "kind": "limerick"}],
    "pool.jsonl": [OWL, MALLORY, LONGEST],
}
PROGRAMS = {
    "README.md": "",
    "agents.md": "",
    "doors.md": "from memshare import Memory\nmemory = Memory(URL, token=None)\n"
    "journey = memory.tasks('logic', 'A riddle about a shadow', kind='riddle').id\n"
    "from celery import Celery\nurl = REDIS\n",
    "memory-service.md": "from memshare_broker.app import make_app\napp = make_app()",
}
"""What the reader's own program has already where the Python of a page begins."""


@dataclass
class Reader:
    """Somebody who types what stands on a page; `meant` is what they put in place of an example's name."""

    home: Path
    terminal: Terminal
    meant: dict[str, str]

    def types(self, block: Block) -> str:
        """What a block said."""
        text = block.script or f"my_model = lambda *given: 'A piano.'\n{PROGRAMS[block.page.name]}\n{block.text}"
        for shown, meant in self.meant.items():
            text = text.replace(shown, meant)
        command = ["sh", "-euc", text] if block.script else [sys.executable, "-c", text]
        keyboard, terminal = pty.openpty()
        os.write(keyboard, b"y\n3\n" * 40)
        done = subprocess.run(
            command, cwd=self.home, env=environment(self.home, self.terminal), stdin=terminal,
            capture_output=True, text=True, timeout=WITHIN, check=False,
        )  # fmt: skip
        os.close(terminal)
        os.close(keyboard)
        assert done.returncode == 0, f"{block.place}: {done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr


def environment(home: Path, terminal: Terminal) -> dict[str, str]:
    path = f"{home / 'bin'}:{os.environ['PATH']}"
    return terminal.environment | {"HOME": str(home), "PATH": path, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "80"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the files and the commands that the pages suppose."""
    home = tmp_path_factory.mktemp("home")
    for name, lines in FILES.items():
        (home / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with (home / "pool.jsonl").open("a") as pool:
        pool.writelines(f"{one.model_dump_json()}\n" for one in flashcard_memories("flashcards"))
    (home / "handbook.txt").write_text("Lamps are cleaned on Fridays.\n\nShoes are not.\n")
    [prices] = [one.text for one in BLOCKS if one.page.name == "budgets.md" and one.language == "toml"]
    (home / "prices.toml").write_text(prices)
    for name in ("memshare", "celery"):
        file = home / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {name} "$@"\n')
        file.chmod(0o755)
    (home / ".venv" / "bin").mkdir(parents=True)
    (home / ".venv" / "bin" / "activate").touch()
    return home


@pytest.fixture(scope="module")
def reader(home: Path) -> Iterator[Reader]:
    terminal, agents = Terminal(home / ".memshare"), home / "agents"
    write_agent(read_questions(), agents)
    shutil.copy(ROOT / "src/memshare/demo/agents/flashcards.toml", agents)
    terminal.environment |= {"MEMSHARE_CONCEPTS": "true", "MEMSHARE_AGENTS_DIR": str(agents)}
    port = free_port()
    process = terminal.up("--port", str(port))
    terminal.run("memories", "import", str(home / "pool.jsonl"))
    task = terminal.run("submit", "poem", "A limerick about a gull", "--kind", "limerick").stdout.strip()
    terminal.settled(task)
    [owl] = terminal.json("memories", "list", "--pool", "poem", "--word", "owl")
    url, redis_url = f"http://127.0.0.1:{port}", f"redis+socket://{terminal.data}/redis.sock"
    meant = {
        "0b0c6f2e-…": task,
        "0b0c6f2e": task[:8],
        "1c6fa3b2": owl["id"][:8],
        '"msh_ada_…"': "None",
        "http://127.0.0.1:8780": url,
        "URL,": f"{url!r},",
        "url = REDIS": f"url = {redis_url!r}",
    }
    yield Reader(home, terminal, meant)
    end(process)


@pytest.mark.parametrize(
    "page", [one for one in PAGES if one.name not in SERVICES and any(block.is_run for block in blocks_of(one))],
    ids=lambda page: page.name,
)  # fmt: skip
def test_what_a_page_says_to_type_works(reader: Reader, page: Path) -> None:
    terminal = reader.terminal
    about = f"What does {page.name} say?"
    added = terminal.run("memories", "add", "Type it.", "--about", about, "--pool", "logic")
    reader.meant["5d1e…"] = added.stdout.strip()

    for block in blocks_of(page):
        if block.is_run:
            said = reader.types(block)
            assert said or "memshare " not in block.script, block.place
            if "for one in task.memories" in block.text:
                shown, answer, score, journey = said.splitlines()
                assert (shown[5:], answer, score) == (LONGEST["prompt"], LONGEST["answer"], "100.0")
                assert terminal.json("trace", journey)["outcome"] == "stored"
            if any(words in block.script for words in SAME):
                assert set(block.text.split()[1:]) <= {*block.script.split(), *said.split()}, said
    assert all((reader.home / name).stat().st_size for name in LEFT.get(page.name, ()))


def log_of_hung(process: subprocess.Popen[bytes], log: Path) -> str:
    """The log of a process with where its threads stand, if it has not ended."""
    process.send_signal(signal.SIGABRT)
    process.wait()
    return log.read_text()


@pytest.mark.parametrize("page", [one for one in PAGES if one.name in SERVICES], ids=lambda page: page.name)
def test_what_a_page_says_to_run_begins_and_ends(page: Path, home: Path, settings: Settings, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    own = f"127.0.0.1:{free_port()}"
    shared = {"MEMSHARE_REDIS_URL": settings.redis, "MEMSHARE_SECRET": SECRET}
    meant = {"redis://redis.internal:6379/0": settings.redis, "memory.internal:8077": own, "0.0.0.0:8077": own,
             "9464": str(free_port()), "9465": str(free_port()), "flower --": f"flower --port={free_port()} --",
             "…": SECRET}  # fmt: skip
    begun = 0

    for block in blocks_of(page):
        script = re.sub(r"\s+#.*", "", block.script) if block.is_run else ""
        for shown, what in meant.items():
            script = script.replace(shown, what)
        exports = "".join(f"{line}\n" for line in script.splitlines() if line.startswith("export "))
        for line in script.splitlines():
            if line.startswith(("export ", "#")) or not line:
                continue
            log = tmp_path / f"{begun}.log"
            with log.open("w") as output:
                process = subprocess.Popen(
                    ["sh", "-euc", exports + re.sub(r"(?=\b(?:memshare|celery) )", "exec ", line, count=1)],
                    cwd=home, env=environment(home, terminal) | shared | {"PYTHONFAULTHANDLER": "1"},
                    stdout=output, stderr=output,
                )  # fmt: skip
            try:
                wait_for(lambda: READY.search(log.read_text()) or process.poll(), WITHIN, line)  # noqa: B023
                process.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(WITHIN)
                assert process.poll() in (0, -signal.SIGTERM), f"{line}: {log_of_hung(process, log)}"
            finally:
                process.kill()
                process.wait()
            begun += 1
    assert begun > 3
