"""`memshare backup` and `memshare restore`: a whole deployment in one file, and back."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from memshare.cli.options import Json, Yes, login_name
from memshare.client.client import Client
from memshare.operate.backup import make as making
from memshare.operate.backup import restore as restoring
from memshare.operate.backup.archive import open_archive
from memshare.operate.data_folder import connected
from memshare.terminal.console import bars, moment, print_json, print_text, require_consent
from memshare.terminal.ids import counted
from memshare_broker.connection import reaching
from memshare_broker.errors import BadInput
from memshare_broker.settings import load_settings


def backup(
    place: Annotated[
        Path,
        typer.Argument(metavar="FOLDER|FILE.zip", help="A folder for a dated file, made if missing; or a new file."),
    ],
    as_json: Json = False,
) -> None:
    """Write pool, Redis, retrievers, your agents and rubrics to one file, while everything goes on.

    Writers wait for a moment, and agents for less. The file has every prompt and answer: it is for you alone (0600).
    What is forgotten or purged later stays in it.

    Example: memshare backup ~/backups
    """
    file = _file_for(place)
    client = Client()
    with reaching(client.settings.redis), connected(client.settings) as direct, _bar() as progress:
        made = making.make(client, direct, file, progress, login_name())
    manifest = made.manifest
    if as_json:
        waited = {"redis_waited": round(made.redis_waited, 3), "pool_waited": round(made.pool_waited, 3)}
        print_json({"file": file, **manifest.model_dump(include={"memories", "keys", "encoder", "made"}), **waited})
        return
    print_text(
        f"{file}: {counted(manifest.memories)} and {counted(manifest.keys, 'key')} of Redis. Tasks waited for"
        f" {made.redis_waited:.1f} s, and the pool's writers for {made.pool_waited:.1f} s."
    )


def _file_for(place: Path) -> Path:
    """A dated file in a folder, which is made where it is missing; a name that ends with .zip is the file's own."""
    if place.suffix == ".zip" and not place.is_dir():
        return place
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"{str(place)!r} cannot be made a folder for backups: {error.strerror}. Give another one, or the name of a"
            " file that ends with .zip."
        ) from error
    return place / time.strftime("memshare-%Y%m%d-%H%M%S.zip")


def restore(
    file: Annotated[Path, typer.Argument(help="What `memshare backup` wrote.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace the data that is there; asks first.")] = False,
    yes: Yes = False,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Restore the tokens, too, in place of those that are there.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Restore a backup into an empty deployment that does not run. A file that is not whole changes nothing.

    Example: memshare restore memshare-20261122-090000.zip
    """
    settings = load_settings()
    with open_archive(file) as archive, connected(settings) as direct:
        manifest = archive.manifest
        if replace:
            files = [str(one) for one in restoring.overwritten(settings, archive)]
            there = f"what is in {', '.join([str(settings.data), *files])}"
            made = moment(manifest.made)
            require_consent(f"Replace {there} by {counted(manifest.memories)} of {made}?", yes=yes)
        with _bar() as progress:
            done = restoring.restore(settings, direct, archive, file, progress, replace=replace, tokens=tokens)
    if as_json:
        print_json(done._asdict())
        return
    left_out = f" {done.left_out:,} of the backup could not be read and were left out." if done.left_out else ""
    print_text(f"Restored {counted(done.memories)} and {counted(done.keys, 'key')} of Redis.{left_out}")
    if done.tokens_left_out:
        print_text(
            f"Tokens are as they were: {done.tokens_left_out:,} of the backup were left out, for some may have been"
            " revoked since. --tokens restores them."
        )
    if done.agents:
        folder = restoring.agents_folder(settings)
        print_text(
            f"{counted(len(done.agents), 'file')} of agents and rubrics went into {folder}. Start with"
            f" MEMSHARE_AGENTS_DIR={folder}. Programs that check answers are in no backup: copy them there."
        )
    if done.aside:
        changed = f", in `agents` there {', '.join(done.overwritten)}" if done.overwritten else ""
        print_text(f"What was replaced is in {done.aside}{changed}: remove it when you need it no more.")


@contextlib.contextmanager
def _bar() -> Iterator[making.Progress]:
    """A line that says what is done, and how many of it."""
    with bars() as shown:
        known = {}

        def progress(what: str, more: int) -> None:
            if what not in known:
                known[what] = shown.add_task(what, total=None)
            shown.advance(known[what], more)

        yield progress
