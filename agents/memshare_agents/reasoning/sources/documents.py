"""The documents of the settings: files in folders, and single files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from memshare_agents.reasoning.sources.extract_text import Kind, SourcePage, page_of
from memshare_broker.errors import BadInput, GiveUp

SUFFIXES: dict[str, Kind] = {
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".txt": "plain",
    ".md": "plain",
}
"""The files that are documents; any others are passed over."""


class Documents:
    """Files that may be read; each is called by its path in its folder.

    Where there are several folders and files, the name of the folder stands before the path. Nothing outside and
    nothing hidden is read, whatever links and dots say.
    """

    def __init__(self, places: Sequence[Path], most: int) -> None:
        """`most` is the size of the largest document in bytes; raises `BadInput` for places that cannot be used."""
        self._most = most
        self._places: dict[str, Path] = {}
        for place in places:
            real = place.resolve()
            if not real.is_dir() and real.suffix.lower() not in SUFFIXES:
                raise BadInput(
                    f"MEMSHARE_DOCUMENTS: {str(place)!r} is neither a folder nor a file that ends with one of"
                    f" {', '.join(SUFFIXES)}."
                )
            if not real.exists():
                raise BadInput(f"MEMSHARE_DOCUMENTS: there is no file {str(place)!r}.")
            name = "" if len(places) == 1 and real.is_dir() else real.name
            if name in self._places:
                raise BadInput(f"MEMSHARE_DOCUMENTS names two places called {name!r}. Rename one of them.")
            self._places[name] = real

    @property
    def places(self) -> tuple[Path, ...]:
        """The folders and files, without links."""
        return tuple(self._places.values())

    def __iter__(self) -> Iterator[str]:
        """Names of the documents, in order; hidden files and links that lead outside are no documents."""
        for name, place in sorted(self._places.items()):
            if place.is_file():
                yield name
                continue
            for path in sorted(place.rglob("*")):
                parts = path.relative_to(place).parts
                source = "/".join((name, *parts) if name else parts)
                if source.isprintable() and not _is_hidden(parts) and _file(path, place) is not None:
                    yield source

    def path(self, source: str) -> Path:
        """Where a document lies; raises `BadInput` for what is none."""
        for name, place in self._places.items():
            before = f"{name}/" if name else ""
            if source != name and not source.startswith((before, "/")):
                continue
            path = _file(place if source == name else place / source.removeprefix(before), place)
            if path is not None:
                return path
        raise BadInput(f"There is no document {source[:200]!r}. Expected a path in MEMSHARE_DOCUMENTS, or a URL.")

    def data(self, source: str) -> bytes:
        """Contents of a document's file; raises `GiveUp` where they cannot be read or are too much."""
        try:
            with self.path(source).open("rb") as file:
                data = file.read(self._most + 1)
        except OSError as error:
            raise GiveUp(f"{source!r} cannot be read: {error.strerror}.") from error
        if len(data) > self._most:
            raise GiveUp(f"{source!r} has more than {self._most:,} bytes (MEMSHARE_BROWSER_BYTES).", "too long")
        return data

    def changed(self, source: str) -> float:
        """When a document was written last, in seconds of Unix time; raises `GiveUp` where it is gone."""
        try:
            return self.path(source).stat().st_mtime
        except OSError as error:
            raise GiveUp(f"{source!r} cannot be read: {error.strerror}.") from error

    def page(self, source: str, data: bytes) -> SourcePage:
        """The page of a document; raises `GiveUp` for one that cannot be read or has no text."""
        return page_of(source, data, SUFFIXES[self.path(source).suffix.lower()])


def _file(named: Path, place: Path) -> Path | None:
    """The document that a path leads to in its place; None where there is none, or one that is hidden or outside."""
    try:
        path = named.resolve()
        inside = path.relative_to(place).parts
        return path if not _is_hidden(inside) and path.is_file() and path.suffix.lower() in SUFFIXES else None
    except (OSError, RuntimeError, ValueError):  # no name of a file, not to be looked at, a circle of links, outside
        return None


def _is_hidden(parts: Sequence[str]) -> bool:
    return any(part.startswith(".") for part in parts)
