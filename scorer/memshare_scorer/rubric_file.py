"""Rubric files on their way into use and out of it: written for a person to review, approved, and withdrawn."""

from __future__ import annotations

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import tomlkit
from pydantic import ValidationError

from memshare_broker.errors import BadInput
from memshare_broker.wire.forms import readable
from memshare_scorer.draft import Drafting
from memshare_scorer.rubric import Rubric, read_rubric

HEADER = """\
A rubric for review. Read each criterion, change what is wrong, approve it: nothing is graded by it before.
Points sum to 100. A criterion with kinds = ["…"] applies to these kinds of tasks only.
threshold is the total from which a pair is remembered, or "mean-of-seeds": the mean of its pool's seeds."""


def refuse_existing(file: Path) -> None:
    """Raise `BadInput` if there is something at `file` or beside it already, or no folder to put it in."""
    for one in (file, drafting_file(file)):
        if one.exists():
            raise BadInput(f"{one} exists already: choose another file, or move it away.")
    _require_folder(file)


def drafting_file(file: Path) -> Path:
    """Where it is kept how the rubric in `file` came about: NAME.rubric.drafts.json beside NAME.rubric.toml."""
    return file.with_suffix(".drafts.json")


def read_drafting(file: Path) -> Drafting | None:
    """How the rubric in `file` came about; None for one that was not drafted here. Raises `BadInput`."""
    beside = drafting_file(file)
    try:
        return Drafting.model_validate_json(beside.read_text(encoding="utf-8")) if beside.exists() else None
    except ValidationError as error:
        raise BadInput(f"{readable(error, str(beside))} Mend it, or move it away to approve without it.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{beside} cannot be read: {error}.") from error


def write_drafting(drafting: Drafting, file: Path) -> None:
    """Keep beside the rubric in `file` how it came about; raises `BadInput` where that cannot be written."""
    _replace(drafting_file(file), drafting.model_dump_json(indent=1))


def write(rubric: Rubric, file: Path) -> None:
    """Write a rubric as commented TOML; raises `BadInput` rather than overwrite a file."""
    if file.exists():
        raise BadInput(f"{file} exists already: choose another file, or move it away.")
    _require_folder(file)
    document = tomlkit.document()
    for line in HEADER.splitlines():
        document.add(tomlkit.comment(line))
    document.add(tomlkit.nl())
    document["domain"] = rubric.domain
    document["threshold"] = rubric.threshold
    criteria = tomlkit.aot()
    for criterion in rubric.criteria:
        criteria.append(tomlkit.item(criterion.model_dump(mode="json", exclude_none=True)))
    document["criteria"] = criteria
    _replace(file, tomlkit.dumps(document))


def approve(file: Path, by: str, version: str) -> Rubric:
    """Record in the file that `by` approves it today; comments stay. Returns the approved rubric.

    `version` is what was read: a file that has changed since then is refused, as is one that is broken.
    """
    rubric = read_rubric(file)
    if rubric.version != version:
        raise BadInput(f"{file} has changed to version {rubric.version} while {version} was read: look again.")
    if not by.strip() or not by.isprintable():
        raise BadInput(f"Somebody must approve the rubric, not {by!r}: give a name.")
    document = tomlkit.parse(file.read_text(encoding="utf-8-sig"))
    approval = document.setdefault("approval", tomlkit.table())
    approval.update({"by": by.strip(), "on": datetime.now(UTC).date(), "version": version})
    approval["rubric"] = rubric.name
    _replace(file, tomlkit.dumps(document))
    return read_rubric(file)


def withdraw(file: Path) -> Rubric:
    """Take the approval out of the file, so that nothing is graded by it; what else is in it stays."""
    read_rubric(file)
    document = tomlkit.parse(file.read_text(encoding="utf-8-sig"))
    document.pop("approval", None)
    _replace(file, tomlkit.dumps(document))
    return read_rubric(file)


def _require_folder(file: Path) -> None:
    if not file.parent.is_dir():
        raise BadInput(f"{file.parent} is no folder: create it, or choose another file.")


def _replace(file: Path, text: str) -> None:
    """Write aside, then rename: a reader sees the old text or the new one, whole."""
    file = file.resolve()
    aside: Path | None = None
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=file.parent, delete=False) as out:
            aside = Path(out.name)
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        aside.chmod(file.stat().st_mode & 0o777 if file.exists() else 0o644)
        aside.replace(file)
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror or error}.") from error
    finally:
        if aside is not None:
            aside.unlink(missing_ok=True)
