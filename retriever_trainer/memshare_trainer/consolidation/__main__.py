"""Runs one consolidation in a process of its own, which ends, and torch with it.

`python -m memshare_trainer.consolidation JOB` takes a `Job` as JSON, and writes `Report`s as JSON lines.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import redis

from memshare_broker.app import SCORER_QUEUE, TRAINER_QUEUE
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.presence import present
from memshare_broker.settings import Settings, load_settings
from memshare_memory.encoders.encoder import BEFORE, first_name, origin_of
from memshare_memory.pool.pool import Pages
from memshare_trainer.consolidation.consolidation_state import Job, Report, Worse
from memshare_trainer.consolidation.pool_record import pool_pages

if TYPE_CHECKING:
    from memshare_trainer.consolidation.consolidation import Consolidation

NICE = 10  # agents go on answering on this machine


def main() -> None:
    job = Job.model_validate_json(sys.argv[1])
    if job.background:
        os.nice(NICE)
        threading.Thread(target=end_with_input, name="memshare-end", daemon=True).start()
    try:
        settings = load_settings()
        with closing(connect(settings.redis)) as client, pool_pages(settings, client) as (pages, name):
            _say(WORK[job.what](settings, client, pages, name, job))
    except BadInput as error:
        _say(Report(error=str(error), kind="bad input"))
    except Worse as error:
        _say(Report(error=str(error), kind="worse"))
    except MemshareError as error:
        _say(Report(error=str(error)))
    else:
        return
    sys.exit(1)


def consolidate(settings: Settings, client: redis.Redis, pages: Pages, name: str, job: Job) -> Report:
    """Train the encoder on the lessons; where the settings name another one, re-encode with that as it is."""
    first = first_name(settings)
    if origin_of(name) == first:
        return Report(result=_consolidation(settings, client, pages, name).train(job.pool))
    if job.pool is not None:
        raise BadInput("--pool says whose lessons to train on, and nothing is trained here: leave it out.")
    _require_nobody_uses(client, name)
    _say(Report(note=f"The pool has vectors of {name}, and MEMSHARE_ENCODER names {first}."))
    _say(Report(note="It is re-encoded with that one as it is."))
    return Report(result=_consolidation(settings, client, pages, name).move_to(first, with_lessons=True))


def try_out(settings: Settings, client: redis.Redis, pages: Pages, name: str, job: Job) -> Report:
    """Say what training would bring; raises `BadInput` where nothing would be trained."""
    if origin_of(name) != first_name(settings):
        raise BadInput(
            f"The pool has vectors of {name!r}, and MEMSHARE_ENCODER names {first_name(settings)!r}: a consolidation"
            " would re-encode with that one as it is, so there is nothing to try."
        )
    return Report(trial=_consolidation(settings, client, pages, name).try_out(job.pool))


def go_back(settings: Settings, client: redis.Redis, pages: Pages, name: str, _: Job) -> Report:
    """Re-encode with the encoder before the last consolidation what is new since, and use it again."""
    before = str(client.get(BEFORE) or name)
    if before == name:
        raise BadInput(f"The pool has had no encoder but {name!r}: there is nothing to go back to.")
    if origin_of(before) != first_name(settings):
        raise BadInput(
            f"The encoder before was {before!r}. Set MEMSHARE_ENCODER to {origin_of(before)!r}, and run this again."
        )
    if origin_of(before) != origin_of(name):
        _require_nobody_uses(client, name)
    return Report(result=_consolidation(settings, client, pages, name).move_to(before, with_lessons=False))


WORK = {"consolidate": consolidate, "try": try_out, "back": go_back}


def end_with_input() -> None:
    """End at once, wherever the work is, when whoever started this has ended: nothing has changed before its end."""
    while os.read(sys.stdin.fileno(), 4096):  # what reads by `sys.stdin` holds its lock, by which the end would abort
        pass
    os._exit(1)


def _consolidation(settings: Settings, client: redis.Redis, pages: Pages, name: str) -> Consolidation:
    """The consolidation, which needs torch: imported when nothing speaks against it, as that takes seconds."""
    from memshare_trainer.consolidation.consolidation import Consolidation

    return Consolidation(settings, client, pages, name, _progress)


def _require_nobody_uses(client: redis.Redis, encoder: str) -> None:
    """A memory service can follow to an encoder that goes back to the one of its settings, and to no other."""
    if any(set(worker.queues) - {SCORER_QUEUE, TRAINER_QUEUE} for worker in present(client)):
        raise MemshareError(
            f"Workers that use the encoder {encoder!r} run, and they could not follow. End `memshare up` and all"
            " workers, run this again, and start them with the new MEMSHARE_ENCODER."
        )


def _progress(what: str, done: int, total: int | None) -> None:
    _say(Report(doing=what, done=done, total=total))


def _say(report: Report) -> None:
    print(report.model_dump_json(exclude_defaults=True, ensure_ascii=True), flush=True)


if __name__ == "__main__":
    main()
