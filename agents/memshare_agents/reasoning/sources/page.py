"""A page: what is left of a document or a web page when its markup and boilerplate are gone."""

from __future__ import annotations

from memshare_broker.wire.messages import Message

MAX_TITLE = 200


class SourcePage(Message):
    """The main text of one source: a document's name or a page's URL, after its redirects."""

    source: str
    title: str
    text: str


def one_line(text: str) -> str:
    """A title on one line, without control characters and of at most `MAX_TITLE` characters."""
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(printable.split())[:MAX_TITLE]
