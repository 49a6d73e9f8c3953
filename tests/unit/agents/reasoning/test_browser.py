from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from memshare_agents.reasoning.engine import Engine, EngineRun
from memshare_agents.reasoning.knowledge import tokens_of
from memshare_agents.reasoning.lookups import PageSummary
from memshare_agents.reasoning.sources.build import Sources
from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import Reply
from tests.support.scripted_chat import ScriptedChat
from tests.support.shelf import CHECK, RESPOND, answered, browse, judged, planned, search, sources, told

MakeEngine = Callable[..., Engine]

END = (answered("Yes."), judged(True))
PAGE = "The mill stands in Ulm.\nIt was built by Ada Korn."


def read(
    make_engine: MakeEngine, found_in: Sources, *replies: Any, source: str = "mill.html", question: str = "mill.html?"
) -> tuple[EngineRun, ScriptedChat]:
    chat = ScriptedChat(planned(browse(source, "who built it"), RESPOND, CHECK), *replies, *END)
    return make_engine(chat, found_in, context=1_000).run(question, "Answer."), chat


def test_what_the_page_tells_is_kept_with_a_sentence_of_the_page(make_engine: MakeEngine) -> None:
    reply = told("Ada Korn built it.", "It was  built\nby Ada Korn.")

    found, chat = read(make_engine, sources({"mill.html": PAGE}), reply)

    (item,) = found.items
    assert (item.kind, item.source) == ("page", "mill.html")
    assert item.text == 'Ada Korn built it.\nOn the page: "It was  built\nby Ada Korn."'
    assert json.loads(chat.conversations[1][-1].content)["page"] == PAGE


def test_a_quote_that_is_not_on_the_page_is_not_kept(make_engine: MakeEngine) -> None:
    found, _ = read(make_engine, sources({"mill.html": PAGE}), told("Bob built it.", "It was built by Bob."))

    assert found.items[0].text == "Bob built it.\n(The page was not quoted.)"


def test_a_quote_of_a_page_that_is_spelled_in_another_way_is_kept(make_engine: MakeEngine) -> None:
    page = "The mill of Ni\u0302mes\u00a0was built by Ada\u00ad Korn."

    found, _ = read(
        make_engine, sources({"mill.html": page}), told("Ada.", "The mill of N\u00eemes was built by Ada Korn.")
    )

    assert found.items[0].text.startswith("Ada.\nOn the page: ")


def test_a_quote_that_is_the_answer_is_kept_once(make_engine: MakeEngine) -> None:
    found, _ = read(make_engine, sources({"mill.html": PAGE}), told("It was built by Ada Korn.", "built by Ada Korn"))

    assert found.items[0].text == "It was built by Ada Korn."


def test_a_page_that_does_not_tell_says_so(make_engine: MakeEngine) -> None:
    found, _ = read(make_engine, sources({"mill.html": PAGE}), told(""))

    assert found.steps[1].said == "The page does not tell: who built it"
    assert [(item.kind, item.text) for item in found.items] == [("not there", "The page does not tell: who built it")]


def test_a_source_that_cannot_be_read_is_told_and_the_run_goes_on(make_engine: MakeEngine) -> None:
    found, _ = read(make_engine, sources({"other.html": PAGE}))

    assert found.steps[1].said == "Not read: There is no document 'mill.html'."
    assert found.verified


def test_only_what_was_found_or_asked_about_is_opened(make_engine: MakeEngine) -> None:
    shelf = sources({"mill.html": PAGE, "https://evil.example/?q=secret": "Thanks."})

    refused, _ = read(make_engine, shelf, source="https://evil.example/?q=secret")
    asked, _ = read(make_engine, shelf, told("Ada."), question="Who built the mill of mill.html?")

    assert refused.steps[1].said.startswith("Not opened: no search has found 'https://evil.example/?q=secret'")
    assert asked.steps[1].said == "Ada."
    assert shelf.browser.opened == ["mill.html"]  # type: ignore[attr-defined]


def test_what_a_search_has_found_may_be_opened(make_engine: MakeEngine) -> None:
    shelf = sources({"mill.html": PAGE})
    chat = ScriptedChat(planned(search("mill"), browse("mill.html"), RESPOND, CHECK), told("Ada."), *END)

    found = make_engine(chat, shelf).run("Who built it?", "Answer.")

    assert found.steps[2].said == "Ada."


class Shortener(ScriptedChat):
    """Numbers the pieces that it is given, and else follows its script."""

    pieces: list[str]

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:
        if schema is not PageSummary:
            return super().reply(turns, schema)
        self.pieces.append(json.loads(turns[-1].content)["piece"])
        return Reply(text=json.dumps({"summary": f"Piece {len(self.pieces)}."}), model=self.name, usage=Usage())


@pytest.mark.parametrize("paragraph", ["word " * 150, "字" * 110])
def test_a_long_page_is_shortened_in_pieces_that_each_fit(make_engine: MakeEngine, paragraph: str) -> None:
    long = "\n\n".join([paragraph] * 20)
    chat = Shortener(planned(browse("mill.html", "who"), RESPOND, CHECK), told("Ada."), *END)
    chat.pieces = []

    found = make_engine(chat, sources({"mill.html": long}), context=1_000).run("mill.html?", "Answer.")

    assert "".join("".join(chat.pieces).split()) == "".join(long.split())
    assert len(chat.pieces) > 1
    assert all(tokens_of(piece) <= 1_000 for piece in chat.pieces)
    assert json.loads(chat.conversations[1][-1].content)["page"].startswith("Piece 1.\nPiece 2.")
    assert found.steps[1].said == "Ada."


def test_what_is_left_out_of_a_very_long_page_is_said(make_engine: MakeEngine) -> None:
    summaries = [{"summary": "So."}] * 8

    found, _ = read(make_engine, sources({"mill.html": "word " * 20_000}), *summaries, told("Ada."))

    assert "pieces; the last" in found.steps[1].said
    assert found.steps[1].usage.prompt_tokens == 90


def test_a_piece_of_mixed_writing_fits_too(make_engine: MakeEngine) -> None:
    chat = Shortener(planned(browse("mill.html", "who"), RESPOND, CHECK), told("Ada."), *END)
    chat.pieces = []

    make_engine(chat, sources({"mill.html": "x" * 3_000 + "字" * 3_000}), context=1_000).run("mill.html?", "Answer.")

    assert max(map(tokens_of, chat.pieces)) == 1_000
