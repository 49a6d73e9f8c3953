"""Has a consolidation run in a process of its own, and follows what it tells."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable

from memshare.operate.supervisor import environment_of
from memshare_broker.child_processes.pool import python
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.settings import Settings
from memshare_trainer.consolidation.consolidation_state import Consolidated, Job, Report, Trial, Worse

Follow = Callable[[Report], None]


def run(settings: Settings, job: Job, follow: Follow = lambda _: None) -> Consolidated:
    """Run a consolidation as `_followed` does, and return its result."""
    done = _followed(settings, job, follow).result
    assert done is not None
    return done


def try_out(settings: Settings, pool: str | None, follow: Follow) -> Trial:
    """Try a consolidation out as `_followed` does, and return its result; nothing is changed."""
    done = _followed(settings, Job(what="try", pool=pool), follow).trial
    assert done is not None
    return done


def _followed(settings: Settings, job: Job, follow: Follow) -> Report:
    """The last report of the process; `follow` is told how far it is, and its notes.

    Raises `Worse` where the trained encoder failed its check, `BadInput` where there is too little to train on, and
    `MemshareError` for anything else that ends it. Ctrl-C ends the process too: nothing has changed then.
    """
    command = python("-m", "memshare_trainer.consolidation", job.model_dump_json())
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            command,
            env=environment_of(settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
        try:
            for line in process.stdout or ():
                report = Report.model_validate_json(line)
                if report.result or report.trial:
                    return report
                if report.error is not None:
                    raise _error(report, report.error)
                follow(report)
            process.wait()
            said.seek(0)
            last = (said.read().strip().splitlines() or ["no output"])[-1]
            raise MemshareError(f"The consolidation ended before it was done ({last}). Nothing has changed.")
        finally:
            process.terminate()
            process.wait()
            if process.stdout:
                process.stdout.close()


def _error(report: Report, text: str) -> MemshareError:
    kinds = {"bad input": BadInput, "worse": Worse, "other": MemshareError}
    return kinds[report.kind](text)
