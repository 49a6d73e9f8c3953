"""What `memshare demo` shows while it runs."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from memshare.cli.begin import demo_gain
from memshare.cli.begin.demo_gain import DemoView
from memshare.demo.gain import DemoStage, Exam, Gain, GainQuestion
from memshare.demo.text_to_sql import read_questions
from memshare.operate.data_folder import tell_models
from memshare.terminal import console as console_module
from memshare.terminal.console import TextConsole
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from tests.support.deployment import wait_for
from tests.support.terminal import Terminal

QUESTION = read_questions().of("train")[0]


def play(view: DemoView) -> None:
    stage = DemoStage("shared", "with a shared pool", 4)
    with view:
        view.see(stage)
        for right in (True, True, False, True):
            stage.asked.append(GainQuestion(QUESTION, right, (), None))
            view.see(stage)


def test_the_demo_of_somebody_who_went_on_with_its_folder_begins_anew_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSHARE_DATA", str(tmp_path / "data"))
    first = demo_gain.own_folder()
    (first / "agents").mkdir()
    monkeypatch.setenv("MEMSHARE_DATA", str(first))
    monkeypatch.setenv("MEMSHARE_AGENTS_DIR", str(first / "agents"))

    again = demo_gain.own_folder()

    assert (first, again) == (tmp_path / "data-demo", first)
    assert not (first / "agents").exists()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(BadInput, match="cannot be written"):
        demo_gain.new_folder(tmp_path / "file" / "demo")


@pytest.mark.parametrize("plain", [True, False])
def test_each_stage_ends_with_its_share(plain: bool) -> None:
    console = TextConsole()
    console.file = io.StringIO()

    play(DemoView(console, plain=plain))

    said = console.file.getvalue()
    assert "with a shared pool" in said
    assert "75%" in said
    assert "3 of 4" in said
    assert ("█" in said) is not plain


def test_what_is_measured_is_known_of_the_stages_that_have_ended() -> None:
    console = TextConsole()
    console.file = io.StringIO()
    view = DemoView(console, plain=True)
    assert view.ended == []

    play(view)
    view.see(DemoStage("task", "graded tasks", 4))

    assert [one.title for one in view.ended] == ["with a shared pool"]


def test_a_demo_that_is_ended_early_pairs_the_exams_that_have_ended(capsys: pytest.CaptureFixture[str]) -> None:
    view = DemoView(TextConsole(), plain=True)
    exams: list[tuple[Exam, int]] = [("alone", 2), ("shared", 2), ("off", 1)]
    for kind, ended in exams:
        view.see(DemoStage(kind, kind, 2, [GainQuestion(QUESTION, kind != "alone", (), None)] * ended))

    demo_gain.print_paired(demo_gain.exams_of(view.ended), 2)

    said = capsys.readouterr().out
    assert "shared  100%" in said
    assert "+100 2:0" in said
    assert "off" not in said.partition("over the retriever off")[2]


def test_lines_of_a_log_stand_at_growing_distances() -> None:
    console = TextConsole()
    console.file = said = io.StringIO()
    view = DemoView(console, plain=True)
    view.say("starting")
    told = []

    for second in range(300):
        view._tell(second)
        if len(said.getvalue().splitlines()) > 1 + len(told):
            told.append(second)

    assert told == [5, 10, 20, 40, 80, 140, 200, 260]


def test_a_log_is_told_while_a_step_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_module, "SAY_EVERY", 0.0)
    monkeypatch.setattr(console_module, "TELL_EVERY", 0.0)
    console = TextConsole()
    console.file = said = io.StringIO()

    with DemoView(console, plain=True) as view:
        view.say("starting")
        wait_for(lambda: said.getvalue().count("starting") >= 3, 20, "two more lines")


@pytest.mark.parametrize("on_the_path", [True, False])
def test_it_says_how_to_reach_memshare_where_a_shell_does_not_find_it(
    on_the_path: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = tmp_path / "memshare"
    command.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path if on_the_path else tmp_path / "nothing"))

    demo_gain.print_next(tmp_path, tmp_path / "agents", 3, has_model=True, stays=on_the_path)

    said = capsys.readouterr().out
    assert ("bin/activate" in said) is not on_the_path
    assert ("until the next demo" in said) is not on_the_path  # which takes no folder that somebody named


def test_a_demo_that_is_ended_in_a_folder_of_ones_own_says_what_becomes_of_it(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "home").without_model()
    command = [sys.executable, "-m", "memshare", "demo", "--data", "named"]
    group = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True, "cwd": tmp_path}
    process = subprocess.Popen(command, env=terminal.environment, **group)  # type: ignore[call-overload]
    told = iter(process.stdout.readline, "")
    assert any(line.startswith("starting Redis") for line in told)
    assert next(told)  # of the same step or the next: it is waited for by now

    process.terminate()

    said = process.communicate(timeout=120)[0]
    assert f"{str(tmp_path / 'named')!r} stays; the next demo needs another folder." in " ".join(said.split())
    *lines, last = said.partition("`memshare up`, too:\n")[2].splitlines()
    assert last.strip() == "memshare up"
    paste = "\n".join([*lines, "command -v memshare && printenv MEMSHARE_DATA MEMSHARE_AGENTS_DIR"])
    shell = subprocess.run(["sh"], input=paste, cwd="/", env={"PATH": os.defpath}, capture_output=True, text=True)
    folder = tmp_path / "named"
    assert shell.stdout.splitlines()[1:] == [str(folder), str(folder / "agents")], "also where the shell knows nothing"
    assert "name a new folder" in terminal.run("demo", "--data", str(tmp_path / "named"), code=2).stderr


def test_no_difference_stands_with_its_interval_and_not_beside_an_error_of_nothing() -> None:
    questions = [*{one.query.number: one for one in read_questions().of("train")}.values()][:20]
    before, after = DemoStage("off", "off", 20), DemoStage("learnt", "learnt", 20)
    for stage in (before, after):
        stage.asked += [GainQuestion(one, False, (), None) for one in questions]

    gain = Gain.between(before, after)
    assert demo_gain._in_words(gain) == "+0 (-13 to 13) 0:0"
    assert demo_gain._in_words(replace(gain, share=0.1, low=0.004, high=0.2)) == "+10 (0.4 to 20.0) 0:0"
    assert demo_gain._in_words(replace(gain, share=0.1, low=-0.004, high=0.2)) == "+10 (-0.4 to 20.0) 0:0"


def test_beside_the_differences_stand_how_many_memories_were_shown_and_what_chance_they_are_of() -> None:
    stages = [DemoStage(kind, kind, 2) for kind in ("shared", "off")]
    for stage, number in zip(stages, (3, 6), strict=True):
        stage.asked += [GainQuestion(QUESTION, True, (UUID(int=1),) * of, None) for of in (number, number - 1)]

    said = demo_gain._told_of(stages, 2)

    assert "shown to each: 2.5, 5.5." in said
    assert "--seed 3" in said
    assert [stage.as_json()["shown"] for stage in stages] == [2.5, 5.5]


def test_the_seconds_are_those_of_the_step() -> None:
    console = TextConsole()
    console.file = io.StringIO()
    view = DemoView(console, plain=True)
    view._began -= 100

    view.say("starting")

    assert time.monotonic() - view._began < 50
    view._began -= 100
    view.see(DemoStage("task", "graded tasks", 4))
    assert time.monotonic() - view._began < 50


def test_the_model_of_an_up_that_runs_is_not_taken_and_ctrl_c_ends_it_without_a_fault(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "data").without_model()
    terminal.data.mkdir()
    group = {"start_new_session": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    with tell_models(Settings(data=terminal.data, model="openai:theirs")):
        refused = terminal.run("demo", "--agents", code=2).stderr
        process = subprocess.Popen([sys.executable, "-m", "memshare", "demo"], env=terminal.environment, **group)  # type: ignore[call-overload]
        assert process.stdout is not None
        began = process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        try:
            said, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:  # Python loses one that comes while it forks
            os.killpg(process.pid, signal.SIGINT)
            said, errors = process.communicate(timeout=60)

    assert "needs a chat model, and none is set" in refused
    assert "no model is set, so a student" in began
    assert "student_server.py" not in said + errors  # a fault of its own, as it was interrupted, too
