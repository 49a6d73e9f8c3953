"""Starts Python in a child: nothing else in this tree names the interpreter."""

from __future__ import annotations

import sys


def python(*arguments: str) -> list[str]:
    """The command of this interpreter with arguments.

    With -P, for what lies in the folder in which memshare was started is no module of ours: a project's own `redis.py`
    would be imported in place of the package, with the model's key and all pools at hand.
    """
    return [sys.executable, "-P", *arguments]  # noqa: TID251
