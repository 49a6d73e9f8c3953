"""How workers log: a sentence and the ids of what it is about, as readable text or as one JSON object a line."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import Any, Literal

from celery import signals
from celery.utils.log import ColorFormatter

from memshare_broker.observe.safe_text import has_all_characters, masked, plain, plain_json, plain_line


def ids(**values: object) -> dict[str, dict[str, str]]:
    """Ids for a log line's `extra`, such as `task_id` and `agent`; None is left out."""
    return {"ids": {name: masked(str(value)) for name, value in values.items() if value is not None}}


class Text(ColorFormatter):
    """A line as Celery writes it, which ends in its ids."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        line = masked(super().formatMessage(record))
        line += "".join(f" {name}={value}" for name, value in getattr(record, "ids", {}).items())
        return plain_line(line)  # whoever submits a task chooses its texts and its id

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        return plain(masked(str(super().formatException(ei))))


class Json(logging.Formatter):
    """A JSON object for each line: time (UTC), level, logger, message, the ids and, of an error, its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "time": f"{at}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": masked(record.getMessage()),
            **_ids_of(record),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["traceback"] = masked(self.formatException(record.exc_info))
        return plain_json(json.dumps(line, ensure_ascii=not has_all_characters(sys.__stderr__)))


def set_up(form: Literal["text", "json"]) -> None:
    """Log in this form on standard error, Python's warnings too."""
    handler = logging.StreamHandler()
    line = "[%(asctime)s: %(levelname)s/%(name)s] %(message)s"
    handler.setFormatter(Json() if form == "json" else Text(line, use_color=False))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)


def set_up_worker(form: Literal["text", "json"]) -> None:
    """Let this process's worker log in this form, Celery's own lines too; call it before Celery's logging."""
    if form == "json":
        set_up(form)  # also what is said until Celery's logging is there

    def formatted(logger: logging.Logger, format: str, colorize: bool, **_: Any) -> None:  # noqa: A002 - Celery's
        for handler in logger.handlers:
            handler.setFormatter(Json() if form == "json" else Text(format, use_color=colorize))

    signals.after_setup_logger.connect(formatted, weak=False)
    if form == "json":
        signals.after_setup_task_logger.connect(formatted, weak=False)


def is_json() -> bool:
    """True if this process logs in JSON by now; then nothing else belongs on standard error."""
    return any(isinstance(handler.formatter, Json) for handler in logging.getLogger().handlers)


def _ids_of(record: logging.LogRecord) -> dict[str, str]:
    """The ids of a line of ours, or of one of Celery's about a task."""
    found: dict[str, str] = dict(getattr(record, "ids", {}))
    if isinstance(record.args, Mapping) and "id" in record.args:
        found |= {"task_id": str(record.args["id"]), "task": str(record.args.get("name", ""))}
    return found
