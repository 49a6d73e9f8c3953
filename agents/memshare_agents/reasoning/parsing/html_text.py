"""The main text of HTML, without navigation, boilerplate and what a reader would not see."""

from __future__ import annotations

import functools
from configparser import ConfigParser

from trafilatura import bare_extraction, load_html
from trafilatura.settings import Document, use_config

MAX_HTML = 4_000_000
"""Bytes or characters of HTML that are looked at. What they cost is bounded by the process that reads them."""

# What is hidden on the page is not for readers, and may be there to mislead.
_UNSEEN = [
    "//body//*[@hidden]",
    "//body//*[contains(translate(@style, ' ', ''), 'display:none')]",
    "//body//*[contains(translate(@style, ' ', ''), 'visibility:hidden')]",
]


def html_text(html: bytes | str) -> tuple[str, str]:
    """The title and the main text, a line for each paragraph, cell row or item; both empty where there are none.

    The character encoding of bytes is taken from the page, or guessed.
    """
    tree = load_html(html[:MAX_HTML])
    if tree is None:
        return "", ""
    title = tree.findtext(".//title") or tree.findtext(".//h1") or ""
    found = bare_extraction(tree, include_comments=False, prune_xpath=list(_UNSEEN), config=_config())
    return title, (found.text or "") if isinstance(found, Document) else ""


@functools.cache
def _config() -> ConfigParser:
    config = use_config()
    # Below this many characters it takes every text on the page instead, menus included.
    config.set("DEFAULT", "MIN_EXTRACTED_SIZE", "1")
    return config
