"""The process that takes HTML and PDF apart, page after page."""

from __future__ import annotations

import functools
import io
import logging
import time
from collections.abc import Callable
from configparser import ConfigParser

import pypdf
from trafilatura import bare_extraction, load_html
from trafilatura.settings import Document, use_config

from memshare_agents.reasoning.sources.blocks import BLOCK, blocks_of, paragraphs_of
from memshare_broker.child_processes import Request, limit_time, serve
from memshare_broker.errors import GiveUp

MAX_HTML = 4_000_000
"""Bytes or characters of HTML that are looked at. What they cost is bounded by the process that reads them."""


def _leave_out(said: str, *, whole: bool) -> None:
    """Log what is not read of a source; raises `GiveUp` where it is to be read as a whole."""
    if whole:
        raise GiveUp(said, "too long")
    log.warning(said)


# What is hidden on the page is not for readers, and may be there to mislead.
_UNSEEN = [
    "//body//*[@hidden]",
    "//body//*[contains(translate(@style, ' ', ''), 'display:none')]",
    "//body//*[contains(translate(@style, ' ', ''), 'visibility:hidden')]",
]


def html_text(html: bytes | str, source: str = "", *, whole: bool = False) -> tuple[str, str]:
    """The title and the main text, a line for each paragraph, cell row or item; both empty where there are none.

    The character encoding of bytes is taken from the page, or guessed. Of a `whole` page all text that shows is taken
    but menus and footers, in Markdown; raises `GiveUp` if that is too much.
    """
    if len(html) > MAX_HTML:
        _leave_out(f"{source!r} has {len(html):,} bytes; of HTML {MAX_HTML:,} are read.", whole=whole)
    tree = load_html(html[:MAX_HTML])
    if tree is None and whole and isinstance(html, bytes) and BLOCK.search(html):  # a part of a page alone
        tree = load_html(b"<html><body>" + html + b"</body></html>")
    if tree is None:
        return "", ""
    if any("Excessive depth" in one.message for one in tree.getroottree().parser.error_log):
        _leave_out(f"{source!r} has more than 255 tags in each other: what is further in is not read.", whole=whole)
    title = tree.findtext(".//title") or tree.findtext(".//h1") or ""
    if whole:
        for one in (found for path in _UNSEEN for found in tree.xpath(path)):
            one.drop_tree()
        return title, blocks_of(tree)
    found = bare_extraction(tree, include_comments=False, prune_xpath=list(_UNSEEN), config=_config())
    return title, (found.text or "") if isinstance(found, Document) else ""


@functools.cache
def _config() -> ConfigParser:
    config = use_config()
    # Below this many characters it takes every text on the page instead, menus included.
    config.set("DEFAULT", "MIN_EXTRACTED_SIZE", "1")
    return config


log = logging.getLogger(__name__)
logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # `pdf_text` says what is wrong with a file

MAX_PAGES = 500
MAX_SECONDS = 30.0

_MAX_STREAM = 4_000_000  # bytes of one page's unpacked instructions; a page of dense text has some 20,000
_LIMITS = pypdf.Configuration(
    zlib_maximum_output_length=_MAX_STREAM,
    lzw_maximum_output_length=_MAX_STREAM,
    run_length_maximum_output_length=_MAX_STREAM,
    array_based_stream_maximum_output_length=_MAX_STREAM,
    stream_decoding_work_maximum_length=4 * _MAX_STREAM,
    stream_parsing_work_maximum_count=500_000,
    xform_maximum_invocations_per_extraction=200,
)


class _OutOfTime(Exception):
    """The text of a page takes too long."""


def pdf_text(
    source: str, data: bytes, most: int, seconds: float = MAX_SECONDS, *, whole: bool = False
) -> tuple[str, str]:
    """The title and the text of the first pages, up to `most` characters; the log says what was left out.

    Raises `GiveUp` for what is no PDF, is encrypted with a password, or cannot be read, as a `whole` if so wanted.
    """
    end = time.monotonic() + seconds
    try:
        with pypdf.apply_configuration(_LIMITS):
            reader = pypdf.PdfReader(io.BytesIO(data))
            title = (reader.metadata.title if reader.metadata else None) or ""
            return title, _text(source, reader, most, end, whole=whole)
    except GiveUp:
        raise
    except Exception as error:
        # A broken file may cause any, as pypdf's documentation says.
        raise GiveUp(f"{source!r} cannot be read as a PDF: {error or type(error).__name__}.", "malformed") from error


def _text(source: str, reader: pypdf.PdfReader, most: int, end: float, *, whole: bool) -> str:
    pages: list[str] = []
    size = 0
    for number, page in enumerate(reader.pages):
        if number == MAX_PAGES or size >= most or time.monotonic() > end:
            _leave_out(f"{source!r} has {len(reader.pages)} pages: only the first {number} are read.", whole=whole)
            break
        try:
            text = paragraphs_of(page, _watch(end))
        except Exception as error:  # noqa: BLE001 - the other pages may be well
            why = str(error) or type(error).__name__
            _leave_out(f"Page {number + 1} of {source!r} is left out: {why}.", whole=whole)
            continue
        pages.append(text.strip())
        size += len(text)
    return "\n\n".join(filter(None, pages))


def _watch(end: float) -> Callable[[object, object, object, object], None]:
    def stop_in_time(*_: object) -> None:
        if time.monotonic() > end:
            raise _OutOfTime("it takes too long")

    return stop_in_time


def read(asked: Request, data: bytes) -> dict[str, object]:
    """Title and text of a page, within its seconds of processor time."""
    source, most, charset = str(asked["source"]), int(str(asked["most"])), asked["charset"]
    whole = bool(asked["whole"])
    limit_time(float(str(asked["seconds"])))
    if asked["kind"] == "pdf":
        title, text = pdf_text(source, data, most, whole=whole)
    else:
        title, text = html_text(data.decode(str(charset), "replace") if charset else data, source, whole=whole)
    if len(text) > most:
        _leave_out(f"{source!r} has {len(text):,} characters, of which {most:,} are read.", whole=whole)
    return {"title": title[:most], "text": text[:most]}


if __name__ == "__main__":
    serve(read)
