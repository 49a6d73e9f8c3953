"""What a text of others looks like before it is sent to a terminal."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memshare_broker.observe.safe_text import plain, plain_json, plain_line, replace_what_is_missing

HOSTILE = {
    "\x1b]0;owned\x07": r"\x1b]0;owned\x07",
    "\x1b[2J": r"\x1b[2J",
    "\x9b2J": r"\x9b2J",
    "\x00": r"\x00",
    "\x08": r"\x08",
    "\x7f": r"\x7f",
    "\x85": r"\x85",
    "a\rb": r"a\rb",
    "\u202egpj.exe": r"\u202egpj.exe",
    "\u2066x\u2069": r"\u2066x\u2069",
    "\u200e\u200f\u061c": r"\u200e\u200f\u061c",
    "pass\u200bword": r"pass\u200bword",
    "pass\u200dword": r"pass\u200dword",
    "\ufeffa": r"\ufeffa",
    "\u00ad": r"\xad",
    "\u2028": r"\u2028",
    "\U000e0041": r"\U000e0041",
    "\ud83d": r"\ud83d",
}


@pytest.mark.parametrize(("text", "shown"), HOSTILE.items(), ids=ascii)
def test_what_commands_a_terminal_or_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    assert plain(f"a{text}z") == f"a{shown}z"
    assert plain(plain(text)) == plain(text)


WRITTEN = (
    "naïve – “quoted” … 100 €",
    "以秋夜为题　🌕",
    "می\u200cخواهم",
    "क्\u200dष",
    "👩\u200d🚀 👩🏽\u200d🚀 ❤️\u200d🔥",
    "one\n\ttwo\n",
    "[/] [bold]x[/bold] :smile:",
    r"\x1b",
)


@pytest.mark.parametrize("text", WRITTEN)
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert plain(text) == text
    assert json.loads(plain_json(json.dumps(text, ensure_ascii=False))) == text


def test_the_line_ends_of_other_systems_are_line_ends() -> None:
    assert plain("one\r\ntwo\r\n") == "one\ntwo\n"
    assert plain_line("one\r\ntwo\n") == r"one\ntwo\n"


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_json_is_exact_and_sends_a_terminal_none_of_it(text: str) -> None:
    written = plain_json(json.dumps({"a": text}, ensure_ascii=False))

    assert written.isprintable()
    assert json.loads(written) == {"a": text}


ENCODINGS = ("ascii", "latin-1", "cp1252", "cp437", "shift_jis", "utf-8", "utf-16")


@given(text=st.text(st.characters(exclude_categories=["Cs"])), encoding=st.sampled_from(ENCODINGS))
def test_any_text_can_be_written_in_any_encoding_and_what_it_has_stays(text: str, encoding: str) -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    replace_what_is_missing(file)

    file.write(text)
    file.flush()

    read = file.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    kept = [one for one in text if one.encode(encoding, "ignore").decode(encoding) == one]
    left = iter(read)
    assert all(one in left for one in kept), (read, text)
    if len(kept) == len(text):
        assert read == text
    assert len(read) >= len(text)


@pytest.mark.parametrize(
    ("encoding", "text", "shown"),
    [
        ("ascii", "poem · limerick → memory – 3 × “good”…", 'poem - limerick > memory - 3 x "good"...'),
        ("latin-1", "café · ½ → 🍸", "café · ½ > ?"),
        ("cp1252", "café – “good”… → 🍸", "café – “good”… > ?"),
        ("utf-8", "café → 🍸", "café → 🍸"),
    ],
)
def test_what_an_encoding_lacks_is_a_similar_character_or_a_question_mark(encoding: str, text: str, shown: str) -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    replace_what_is_missing(file)

    file.write(text)
    file.seek(0)

    assert file.read() == shown
