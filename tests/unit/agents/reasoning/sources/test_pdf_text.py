from __future__ import annotations

import io
import logging
import time
from collections.abc import Callable

import pypdf
import pytest
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from memshare_agents.reasoning.sources.extract_text import MAX_TEXT, page_of
from memshare_agents.reasoning.sources.parsing import MAX_PAGES, pdf_text
from memshare_broker.errors import GiveUp
from tests.support.deployment import patient


def pdf_of(*contents: bytes, meaning: bytes = b"") -> bytes:
    """A PDF whose pages have these instructions, packed, and a font F1; `meaning` says what its letters mean."""
    writer = pypdf.PdfWriter()
    font = DictionaryObject(
        {NameObject(key): NameObject(name) for key, name in {"/Type": "/Font", "/Subtype": "/Type1"}.items()}
    )
    font[NameObject("/BaseFont")] = NameObject("/Helvetica")
    if meaning:
        characters = DecodedStreamObject()
        characters.set_data(meaning)
        font[NameObject("/ToUnicode")] = writer._add_object(characters)
    fonts = DictionaryObject({NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})})
    for content in contents:
        page = writer.add_blank_page(200, 200)
        stream = DecodedStreamObject()
        stream.set_data(content)
        page[NameObject("/Resources")] = fonts
        page[NameObject("/Contents")] = writer._add_object(stream.flate_encode())
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def test_a_page_that_unpacks_to_a_bomb_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    bomb = pdf_of(b" " * 60_000_000)
    assert len(bomb) < 200_000

    with caplog.at_level(logging.WARNING):
        assert pdf_text("bomb.pdf", bomb, MAX_TEXT) == ("", "")

    assert "Page 1 of 'bomb.pdf' is left out" in caplog.text


def test_a_page_that_takes_too_long_ends_in_time_and_the_pages_before_it_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    slow = pdf_of(b"BT /F1 9 Tf (hello) Tj ET", *[b"BT /F1 9 Tf (a) Tj ET " * 40_000] * 30)
    began = time.monotonic()

    with caplog.at_level(logging.WARNING):
        _, text = pdf_text("slow.pdf", slow, MAX_TEXT, seconds=1)

    assert time.monotonic() - began < patient(10)
    assert text.startswith("hello")
    assert "it takes too long" in caplog.text


def test_only_the_first_pages_of_a_very_long_pdf_are_read(
    make_pdf: Callable[..., bytes], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        _, text = pdf_text("long.pdf", make_pdf(*["x"] * (MAX_PAGES + 5)), MAX_TEXT)
        _, start = pdf_text("long.pdf", make_pdf(*["many words"] * 20), 50)

    assert text.count("x") == MAX_PAGES
    assert 50 <= len(start) < 100
    assert caplog.text.count("only the first") == 2


def test_what_the_library_says_of_a_broken_file_is_in_our_words_alone(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(GiveUp, match=r"'cut\.pdf' cannot be read as a PDF"):
        pdf_text("cut.pdf", pdf_of(b"BT /F1 9 Tf (hello) Tj ET")[:300], MAX_TEXT)

    assert caplog.text == ""


def test_half_a_character_becomes_one_that_can_be_sent() -> None:
    half = pdf_of(
        b"BT /F1 9 Tf (a tide) Tj ET",
        meaning=b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange"
        b" 1 beginbfchar <61> <D83D> endbfchar endcmap",
    )
    assert pdf_text("half.pdf", half, MAX_TEXT)[1] == "\ud83d tide"

    page = page_of("half.pdf", half, "pdf")

    assert page.text == "? tide"
    assert page.model_dump_json()
