"""A command as a face of an operation: done in this process, by whoever sits at this machine, and noted."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from io import TextIOWrapper
from pathlib import Path

from pydantic import BaseModel

from memshare.cli.options import login_name
from memshare.operate.data_folder import redis_running
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.terminal.console import errors, print_json
from memshare_broker.observe.logs import Json, Text, is_json
from memshare_broker.settings import Settings, load_settings

AUDIT = "commands.log"
"""Beside the logs of `memshare up`: what commands did, a line each."""


class _AuditFile(logging.FileHandler):
    """The file, made with its folder for the first line; where it cannot be written, stderr is told, and gets all."""

    def _open(self) -> TextIOWrapper:
        try:
            Path(self.baseFilename).parent.mkdir(parents=True, exist_ok=True)
            return super()._open()
        except OSError as error:
            errors.print(f"{self.baseFilename} cannot be written: {error.strerror}. What was done is told here:")
            return os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8")


def who_sits_here() -> Caller:
    """By their login name, with every right."""
    return Caller(login_name(), frozenset({"admin"}))


@contextmanager
def operating(*, alone: bool = False) -> Iterator[tuple[Backend, Caller]]:
    """A deployment, and who asks. `alone`: Redis is started where none runs."""
    settings = load_settings()
    with redis_running(settings) if alone else nullcontext(), closing(Backend(settings)) as backend, _noting(settings):
        yield backend, who_sits_here()


def print_reply(reply: BaseModel | Sequence[BaseModel]) -> None:
    """A reply as REST has it."""
    if isinstance(reply, BaseModel):
        print_json(reply.model_dump(mode="json"))
    else:
        print_json([one.model_dump(mode="json") for one in reply])


def note(action: str, **about: object) -> None:
    """Note what a command did that no operation does."""
    with _noting(load_settings()):
        audit(who_sits_here(), action, **about)


@contextmanager
def _noting(settings: Settings) -> Iterator[None]:
    """Have `memshare.audit` write to the logs of this machine's deployment, or, in JSON, where all is logged."""
    audit = logging.getLogger("memshare.audit")
    handler: logging.Handler
    if is_json() or settings.log_format == "json":
        handler = logging.StreamHandler()
        handler.setFormatter(Json())
    else:
        handler = _AuditFile(settings.data / "logs" / AUDIT, encoding="utf-8", delay=True)
        handler.setFormatter(Text("[%(asctime)s] %(message)s", use_color=False))
    level = audit.level
    audit.addHandler(handler)
    audit.setLevel(logging.INFO)
    try:
        yield
    finally:
        audit.removeHandler(handler)
        audit.setLevel(level)
        handler.close()
