"""The map of a pool: one HTML page that shows its clusters, its memories and how alike they are.

Here are the files that it is made of; light to import, for a server that sends them as they are.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "html"
SCRIPTS = ("data.js", "colours.js", "moving.js", "drawing.js", "panel.js", "similarities.js", "start.js")
"""In the order in which they run."""
SERVED_AT = "/pages/map/"
FILES = {f"{SERVED_AT}{name}": FOLDER / name for name in ("page.css", *SCRIPTS)}  # path at a server → file
