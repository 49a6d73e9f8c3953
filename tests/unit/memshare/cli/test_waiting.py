"""How long commands wait for an answer."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing

import pytest

from memshare.cli.options import ANSWER_WITHIN
from memshare.client.client import Client
from memshare_broker.delivery.submission import NoAnswerYet
from memshare_broker.errors import NotYet
from memshare_broker.settings import Settings
from tests.support.deployment import ROOT
from tests.support.terminal import Terminal

ANSWERED_WITHIN = 60  # seconds, once it is sent again


def test_who_waits_has_the_answer_though_its_message_is_lost_and_found_only_after_the_lease() -> None:
    settings = Settings()

    assert settings.lost_after > settings.longest_task  # kombu's own redelivery comes first
    assert settings.lost_after + ANSWERED_WITHIN < ANSWER_WITHIN


STOPPED = """
import signal, threading
class Dropped:
    def __del__(self): raise KeyboardInterrupt
def fault():
    try: raise KeyboardInterrupt
    finally: threading.Lock().release()
def wait(): raise KeyboardInterrupt
signal.signal(signal.SIGINT, lambda *_: (signal.signal(signal.SIGINT, signal.default_int_handler), {place}()))
from memshare.cli.main import main
main()
"""
"""Ctrl-C that finds a command as it waits, in a `__del__`, where Python swallows it, or in a block that it breaks."""


@pytest.mark.parametrize("place", ["wait", "Dropped", "fault"])
def test_who_stops_waiting_is_told_that_the_task_goes_on_and_how_to_read_its_answer(
    place: str, settings: Settings, terminal: Terminal
) -> None:
    command = [sys.executable, "-c", STOPPED.format(place=place)]
    words = [*command, "submit", "poem", "A limerick", "--wait", "--timeout", "60"]
    with subprocess.Popen(
        words, cwd=ROOT, env=terminal.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert "Asking poem" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()

    with closing(Client(settings)) as client:
        [task_id] = client.ledger.journeys("", 5)
    assert process.returncode == 130, said
    assert f"`memshare result {task_id}`" in said
    assert "Traceback" not in said


LOADING = """
import signal, sys
class Loader:
    def find_spec(self, name, path=None, target=None):
        if name == "asyncio.futures":
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)
from memshare.cli.main import main
sys.meta_path.insert(0, Loader())
main()
"""
"""Ctrl-C that leaves asyncio half loaded, so that what needs it cannot be loaded any more."""


def test_who_stops_a_command_while_it_loads_is_told_so_in_a_word(terminal: Terminal) -> None:
    command = [sys.executable, "-c", LOADING, "memories", "import", "facts.jsonl"]

    ended = subprocess.run(command, cwd=ROOT, env=terminal.environment, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "\nStopped.\n")


def test_a_task_from_standard_input_is_without_the_newline_that_ends_it(settings: Settings, terminal: Terminal) -> None:
    with closing(Client(settings)) as client:
        for typed, prompt in (("A limerick\n", "A limerick"), ("Two\nlines\n\n", "Two\nlines\n")):
            task_id = terminal.run("submit", "poem", "-", stdin=typed).stdout.strip()
            assert client.journey(task_id).prompt == prompt


def test_standard_input_is_called_so(terminal: Terminal) -> None:
    said = [terminal.run(*words, "-", code=2).stderr for words in (("submit", "--file"), ("seed",))]

    assert ["standard input is empty: expected lines such as" in one for one in said] == [True, True]


def test_no_answer_yet_says_what_the_task_waits_for_and_what_to_do(settings: Settings) -> None:
    with closing(Client(settings)) as client:
        submitted = client.submit("poem", "A limerick")
        with pytest.raises(NoAnswerYet, match=f"in its queue.*memshare result {submitted.id}"):
            submitted.get(timeout=0)

        [entry] = client.ledger.open_of([submitted.id])
        client.ledger.park(entry, NotYet("The cap is used up.", 60, hold="agent poem"))

        with pytest.raises(NoAnswerYet, match="The cap is used up"):
            submitted.get(timeout=0)
