"""`memshare evaluate languages`, with encoders on loopback that know a second language, or none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from memshare.cli.learn.evaluate import run
from memshare.evaluation.languages import ENGLISH_GERMAN, LanguagesResult, evaluate_languages, read_pairs
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from tests.support.embedding_server import KEY, EmbeddingServer, Sent, embeddings, listed, serving

# Without capitals and numbers nothing in them is masked.
WHAT = (("tea", "tee"), ("oil", "öl"), ("milk", "milch"), ("salt", "salz"))
HOLDS = (("pot", "kanne"), ("can", "dose"), ("glass", "glas"), ("shop", "laden"), ("box", "kiste"))
THINGS = {f"{what} {holds}": f"{was}{hat}" for what, was in WHAT for holds, hat in HOLDS}
ENGLISH_OF = {f"wo steht {theirs}?": f"where is the {ours}?" for ours, theirs in THINGS.items()}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield server


def knows_both(request: dict[str, Any]) -> Sent:
    """The script of an encoder to which a question says the same in both languages."""
    return listed(embeddings(request | {"input": [ENGLISH_OF.get(text, text) for text in request["input"]]}))


def write(folder: Path, **more: str) -> Path:
    lines = [
        {"prompt": english, "answer": f"on shelf {place}", "translated_prompt": german} | more
        for place, (german, english) in enumerate(ENGLISH_OF.items())
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder / "pairs.jsonl"


def first(result: LanguagesResult, asked: str) -> dict[str, float]:
    return {row.found_by: row.first.mean for row in result.rows if row.asked == asked}


def test_a_pool_is_asked_in_both_languages_and_an_encoder_that_knows_one_finds_less(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    settings, file = Settings(data=tmp_path, encoder="openai:small"), write(tmp_path)

    one = evaluate_languages([file], settings)
    server.script = knows_both
    both = evaluate_languages([file], settings)

    assert (one.memories, one.encoder, one.likeness) == (20, "openai:small", None)
    assert set(first(one, "first language").values()) == {1}
    assert [(round(row.first.low, 3), row.first.high) for row in one.rows[:3]] == [(0.839, 1)] * 3, "20 of 20 (Wilson)"
    assert max(first(one, "second language").values()) < 0.5
    assert first(both, "second language")["recall"] == first(both, "second language")["encoder"] == 1
    assert first(one, "reworded") == {}


def test_answers_are_compared_with_their_translations_where_the_encoder_knows_the_words(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    settings = Settings(data=tmp_path, encoder="openai:small")

    unknown = evaluate_languages([write(tmp_path, translated_answer="西陸蟬聲唱")], settings)
    lines = [json.loads(line) for line in ENGLISH_GERMAN.read_text("utf-8").splitlines()[:4]]
    (tmp_path / "four.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    known = evaluate_languages([tmp_path / "four.jsonl"], settings)

    assert unknown.likeness is None
    assert known.likeness is not None
    assert (known.likeness.reader, known.likeness.answers) == ("all-MiniLM-L6-v2", 4)
    assert known.likeness.same.mean > known.likeness.others.mean
    assert server.requests


def test_the_command_needs_no_chat_model(
    tmp_path: Path, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.script = knows_both
    monkeypatch.setenv("MEMSHARE_DATA", str(tmp_path))
    monkeypatch.setenv("MEMSHARE_MODEL", "offline")
    monkeypatch.setenv("MEMSHARE_ENCODER", "openai:small")
    app = typer.Typer()
    app.command()(run)

    done = CliRunner().invoke(app, ["languages", "--data", str(write(tmp_path)), "--json"])

    assert done.exit_code == 0, done.output
    assert first(LanguagesResult.model_validate_json(done.stdout), "second language")["recall"] == 1


def test_wrong_lines_are_named_before_anything_is_asked(tmp_path: Path, server: EmbeddingServer) -> None:
    (tmp_path / "pairs.jsonl").write_text('{"prompt": "a", "answer": "b"}\n')

    with pytest.raises(BadInput, match=r"pairs\.jsonl:1.*translated_prompt"):
        evaluate_languages([tmp_path / "pairs.jsonl"], Settings(data=tmp_path, encoder="openai:small"))
    assert not server.requests


def test_the_bundled_list_has_thirty_whole_pairs() -> None:
    pairs = read_pairs([ENGLISH_GERMAN])

    assert len(pairs) == 30
    assert all(pair.in_other_words and pair.translated_answer for pair in pairs)
    assert len({pair.translated_prompt for pair in pairs} | {pair.in_other_words for pair in pairs}) == 60
