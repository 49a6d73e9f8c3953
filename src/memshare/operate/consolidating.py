"""Runs a consolidation in a process of its own; and retrievers off, on and consolidated, for what compares these."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing

from memshare.client.client import Client
from memshare.operate.supervisor import environment_of
from memshare_broker.child_processes import python
from memshare_broker.connection import connect
from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.settings import Settings
from memshare_memory.recall.retriever import version_key
from memshare_memory.stores.store import Where
from memshare_trainer.consolidation.consolidation_state import Consolidated, Job, Report, Trial, Worse

Follow = Callable[[Report], None]
ASIDE = ":aside"


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


def retrievers_off(client: Client) -> None:
    """Put the numbers of the versions in use aside: retrievers without one are the encoder alone."""
    with closing(connect(client.settings.redis)) as own:
        for key in list(own.scan_iter(version_key("*", "*"))):
            own.rename(key, f"{key}{ASIDE}")


def retrievers_on(client: Client) -> None:
    """Put the versions into use again that `retrievers_off` put aside."""
    with closing(connect(client.settings.redis)) as own:
        for key in list(own.scan_iter(version_key("*", "*") + ASIDE)):
            own.rename(key, str(key).removesuffix(ASIDE))


def consolidate(client: Client) -> str | None:
    """Consolidate, and wait until the new encoder is in use; or why it was not done."""
    try:
        run(client.settings, Job())
    except (BadInput, Worse) as error:
        return f"The encoder was not consolidated: {error}"
    # Who reads goes on with the old one while the new one is being opened; who writes waits for it.
    client.memories.restore(client.memories.page(Where(), limit=1).memories)
    return None


def _followed(settings: Settings, job: Job, follow: Follow) -> Report:
    """The last report of the process; `follow` is told how far it is, and its notes.

    Raises `Worse` where the trained encoder failed its check, `BadInput` where there is too little to train on, and
    `MemshareError` for anything else that ends it. Ctrl-C ends the process too: nothing has changed then.
    """
    command = python("-m", "memshare_trainer.consolidation", job.model_dump_json())
    with tempfile.TemporaryFile("w+") as said:
        environment, pipe = environment_of(settings), subprocess.PIPE
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=said, text=True
        ) as process:
            try:
                for line in process.stdout or ():
                    report = Report.model_validate_json(line)
                    if report.result or report.trial:
                        return report
                    if report.error is not None:
                        raise _ERRORS[report.kind](report.error)
                    follow(report)
                process.wait()
            finally:
                process.terminate()
                process.wait()
        said.seek(0)
        last = (said.read().strip().splitlines() or ["no output"])[-1]
        raise MemshareError(f"The consolidation ended before it was done ({last}). Nothing has changed.")


_ERRORS: dict[str, type[MemshareError]] = {"bad input": BadInput, "worse": Worse, "other": MemshareError}
