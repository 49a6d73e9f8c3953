"""The pages of the documentation, and the fenced blocks in them.

A block that no test runs has a line `<!-- not run: REASON -->` before its fence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.support.deployment import ROOT

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "deploy/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
FENCED = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)
SHELL = ("sh", "bash")


@dataclass(frozen=True)
class Block:
    """A fenced block. `reason` says why no test runs it; `line` is that of its first fence."""

    page: Path
    line: int
    language: str
    text: str
    reason: str | None

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def script(self) -> str:
        """What is typed into a shell: the whole of a shell's block, or the lines of a session after `$`."""
        if typed := re.findall(r"^\$ (.*)$", self.text, re.M):
            return "\n".join(typed)
        return self.text if self.language in SHELL else ""

    @property
    def is_run(self) -> bool:
        """Whether a test has to run it."""
        return self.reason is None and bool(self.script or self.language == "python")


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, one.start("language")) + 1, one["language"], one["text"], one["reason"])
        for one in FENCED.finditer(text)
    ]


BLOCKS = [block for page in PAGES for block in blocks_of(page)]
