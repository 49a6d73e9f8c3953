"""What the command line prints is text, wherever it stands, and whoever wrote it."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.text import Text

from memshare.terminal import console as console_module
from memshare.terminal.console import TextConsole, panel, print_json, print_text, short, styled, table
from memshare_broker.errors import BadInput
from tests.support.deployment import wait_for

SOURCE = Path(__file__).parents[3] / "src" / "memshare"
HOSTILE = "[/] [red]a[/red] :smile: \x1b]0;owned\x07\x9b2J\u202eb\u200bc\ud83d"
SHOWN = r"[/] [red]a[/red] :smile: \x1b]0;owned\x07\x9b2J\u202eb\u200bc\ud83d"


def printed(*what: object, width: int = 120, **options: object) -> str:
    console = TextConsole()
    console.file, console.width = io.StringIO(), width
    console.print(*what, **options)  # type: ignore[arg-type]
    return console.file.getvalue()


@pytest.mark.parametrize(
    "what",
    [
        HOSTILE,
        styled(("A prompt: ", "bold"), (HOSTILE, "red"), HOSTILE),
        panel(HOSTILE, HOSTILE),
        table("id", HOSTILE, rows=[(HOSTILE, HOSTILE), (styled((HOSTILE, "bold")), 1)], title=HOSTILE),
    ],
    ids=["str", "styled", "panel", "table"],
)
def test_a_text_is_shown_as_it_is_wherever_it_stands(what: object) -> None:
    shown = printed(what, width=400)

    assert SHOWN in shown
    assert shown.replace("\n", "").isprintable()


def test_single_words_stay_whole_beside_sentences_where_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_module.console, "width", 80)
    kinds = "limerick, sonnet, haiku, riddle, travel, meals, proof, puzzle"
    model = "openai:qwen2.5-coder-1.5b"

    shown = printed(table("agent", "kinds", "pool", "model", rows=[("bikes", kinds, "bikes", model)]), width=80)

    assert model in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_what_is_waited_for_is_said_at_once_and_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console_module, "SAY_EVERY", 0.02)

    lines: list[str] = []

    def told() -> bool:
        said = capsys.readouterr()
        lines.extend(said.err.splitlines())
        return len(lines) > 2 and not said.out

    with console_module.waiting("Asking openai:slow, up to 120 s"):
        wait_for(told, 10, "it to be said")

    assert {line.partition(" …")[0] for line in lines} == {"Asking openai:slow, up to 120 s"}


def test_a_bar_that_a_log_is_not_told_of_leaves_no_empty_line_there(capsys: pytest.CaptureFixture[str]) -> None:
    with console_module.progress_bar("Importing", 1) as bar:
        bar(completed=1)

    assert capsys.readouterr().err == ""


def test_a_log_is_told_at_growing_distances() -> None:
    due = [0.0]
    while due[-1] < 200:
        due.append(console_module.next_line(due[-1]))

    assert due == [0, 5, 10, 20, 40, 80, 140, 200]


def test_who_is_not_there_is_told_what_would_have_been_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())

    with pytest.raises(BadInput, match="'Replace them all"):
        console_module.require_consent("Replace them all?", yes=False)


def test_a_text_that_came_past_the_console_is_not_sent_to_the_terminal_either() -> None:
    assert printed(Text(HOSTILE)).rstrip("\n").isprintable()


def test_columns_stay_in_line_beside_a_hostile_text() -> None:
    rows = printed(table("a", "b", rows=[(HOSTILE, "first"), ("x", "second")])).splitlines()

    assert rows[1].index("first") == rows[2].index("second")


def test_a_spinner_takes_any_text() -> None:
    console = TextConsole(stderr=True)
    console.file = io.StringIO()

    with console.status(HOSTILE):
        pass


def test_answers_and_json_can_be_printed_whatever_is_in_them(capsys: pytest.CaptureFixture[str]) -> None:
    print_text(f"{HOSTILE}\nline two")
    print_json({"answer": HOSTILE})

    text, second, document = capsys.readouterr().out.splitlines()
    assert (text, second) == (SHOWN, "line two")
    assert document.isprintable()
    assert json.loads(document) == {"answer": HOSTILE}


def test_a_short_text_does_not_end_in_the_middle_of_what_is_written_out_as_something_else() -> None:
    assert short("a\x1b[2J  b\n c", 60) == r"a\x1b[2J b c"


def test_no_command_writes_markup_which_would_be_shown_as_text() -> None:
    markup = re.compile(r"\[/\]|\[/?(bold|dim|red|green|yellow|cyan)\b|rich\.markup|from_markup")
    files = [one for one in SOURCE.rglob("*.py") if "evaluation" not in one.parts and one.name != "console.py"]

    found = [
        f"{one.name}: {line.strip()}" for one in files for line in one.read_text().splitlines() if markup.search(line)
    ]

    assert files
    assert found == []


COMMAND = "`memshare dead retry 24698e87-9d10-5e57-8f6e-0d2b7a9c4e5e`"


@pytest.mark.parametrize("what", [f"{'It was given up. ' * 4}{COMMAND}", styled("Given up. " * 7, (COMMAND, "dim"))])
def test_a_command_in_a_message_is_on_one_line_on_a_narrow_terminal(what: object) -> None:
    assert COMMAND in printed(what, width=80)


@pytest.mark.parametrize("width", range(1, 100))
def test_a_text_that_is_cut_has_no_half_of_a_command(width: int) -> None:
    cut = short(f"Not graded. Run {COMMAND} or {COMMAND}, or wait.", width)

    assert len(cut) <= width
    assert cut.count(COMMAND) == cut.count("`memshare dead") or cut.endswith("`memshare…") is False
    assert re.sub(re.escape(COMMAND), "", cut).count("retry") == 0


def test_nothing_that_is_wider_than_its_column_is_elided() -> None:
    shown = printed(table("queue", "error", rows=[("poem", COMMAND), ("logic", "word " * 30)]), width=40)

    assert "…" not in shown
    assert "24698e87" in re.sub(r"\s", "", shown)
