"""The records of a file that another tool wrote: JSON, JSON lines or a table (CSV), gzip or not."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memshare.files.json_lines import decode, numbered, read_object, refuse
from memshare_broker.errors import BadInput

Record = dict[str, Any]

MOST_BYTES = 512 * 2**20  # of a file, unpacked
_GZIP, _ZIP, _PARQUET = b"\x1f\x8b", b"PK\x03\x04", b"PAR1"


def read_text(file: Path) -> str:
    """The text of a file, unpacked; raises `BadInput` for one that cannot be read, is too large, or is no text."""
    try:
        with file.open("rb") as raw:
            start = raw.read(4)
        with gzip.open(file) if start.startswith(_GZIP) else file.open("rb") as unpacked:
            found = unpacked.read(MOST_BYTES + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BadInput(f"{str(file)!r} is no whole gzip file: {error}. Export it again.") from error
    except OSError as error:
        raise BadInput(f"{str(file)!r} cannot be read: {error.strerror}.") from error
    if len(found) > MOST_BYTES:
        raise BadInput(f"{str(file)!r} has more than {MOST_BYTES:,} bytes, unpacked: split it, and import each part.")
    if start in (_ZIP, _PARQUET):
        raise BadInput(
            f"{str(file)!r} is a workbook, Parquet or a zip file: save it as CSV in UTF-8, or as JSON lines."
        )
    return decode(found, str(file))


def records_of(text: str, name: str) -> list[Record]:
    """The objects of JSON, of JSON lines, or a table's rows; pages of an API (`{"data": […]}`) are taken apart.

    Raises `BadInput` that names the wrong ones.
    """
    text = text.lstrip("\ufeff")
    if not text.lstrip().startswith(("{", "[")):
        return list(_rows(text, name))
    found, faults = list[Record](), list[str]()
    lines = [(1, text)] if _is_one_object(text) else numbered(text)
    for number, line in lines:
        try:
            record = read_object(line)
            page = record.get("data")
            found += page if isinstance(page, list) and all(isinstance(one, dict) for one in page) else [record]
        except BadInput as error:
            faults.append(f"{name}:{number}: {error}")
    refuse(faults, "Nothing was imported.")
    return found


def _is_one_object(text: str) -> bool:
    """True for an object that is written over several lines; then its first line is none by itself."""
    first, _, rest = text.strip().partition("\n")
    if not first.startswith("{") or not rest:
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return True
    return False


def _rows(text: str, name: str) -> Iterator[Record]:
    """The rows of a table by its header; cells that hold JSON are read, and empty ones are None."""
    header = text.lstrip().partition("\n")[0]
    csv.field_size_limit(MOST_BYTES)
    lines = io.StringIO(text.lstrip(), newline="")
    rows = csv.reader(lines, delimiter=max(",;\t", key=header.count), strict=True)
    columns: list[str] = []
    try:
        for cells in rows:
            if not columns:
                columns = [cell.strip() for cell in cells]
                if len(columns) < 2 or len(set(columns)) < len(columns):
                    raise BadInput(
                        f"{name} is neither JSON nor a table: expected a first line with a name for each column."
                    )
            elif len(cells) > len(columns):
                raise BadInput(
                    f"{name}:{rows.line_num}: {len(cells)} cells, and the header has {len(columns)} columns."
                )
            elif any(cells):
                yield dict(zip(columns, map(_cell, cells), strict=False))
    except csv.Error as error:
        raise BadInput(f"{name}:{rows.line_num}: no row of a table: {error}.") from error


def _cell(text: str) -> object:
    if text.strip().startswith(("[", "{")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text if text.strip() else None
