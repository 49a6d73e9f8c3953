"""Jobs: a command of this machine in a process of its own, for who has no shell; its end is noted in Redis."""

from __future__ import annotations

import tempfile
import threading
import time
from contextlib import suppress
from subprocess import TimeoutExpired
from typing import Annotated, get_args

from pydantic import Field
from redis.exceptions import RedisError

from memshare.client.errors import Conflict
from memshare.client.rest.calls.jobs import JobKind, JobReply, Jobs
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.serving import serves
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_broker.wire.forms import Label
from memshare_scorer.draft import DOMAIN_LIMIT
from memshare_scorer.rubric import SUFFIX

JOB = "memshare:job:"
"""Key of the last job of a kind, which is gone soon after the process that follows it."""
OF_POOL: tuple[JobKind, ...] = ("concepts", "recheck")
LASTS, LOOK, KEEP = 60, 5, 7 * 86_400  # seconds
RubricPath = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,60}$")]


@serves(Jobs.list)
def jobs(backend: Backend, caller: Caller) -> list[JobReply]:
    """The last jobs; who does not see all pools is told of those on their own."""
    caller.require("admin")
    kinds = get_args(JobKind) if caller.pools is None else OF_POOL
    return [one for one in _last(backend, *kinds) if caller.sees(one.about)]


def _last(backend: Backend, *kinds: JobKind) -> list[JobReply]:
    with backend.reaching():
        texts = backend.redis.mget([f"{JOB}{kind}" for kind in kinds])
    return [JobReply.model_validate_json(text) for text in texts if text]


@serves(Jobs.begin, "JobForm")
def begin(
    backend: Backend,
    caller: Caller,
    kind: JobKind,
    pool: Label | None = None,
    name: RubricPath | None = None,
    domain: Annotated[str | None, Field(min_length=1, max_length=DOMAIN_LIMIT)] = None,
) -> JobReply:
    """Begin a job; raises `Conflict` while one of its kind is at work, `BadInput` for what this server cannot do."""
    caller.require("admin")
    caller.require_pool(pool or "") if kind in OF_POOL else caller.require_all()
    words = _words(backend.settings, kind, pool, name, domain)
    if backend.command is None:
        raise BadInput("This server begins no jobs: use the command line of a machine of this deployment.")
    job = JobReply(kind=kind, about=pool or name or "", by=caller.name, began=time.time())
    with backend.reaching():
        if any(one.ended for one in _last(backend, kind)):
            backend.redis.delete(f"{JOB}{kind}")
        if not backend.redis.set(f"{JOB}{kind}", job.model_dump_json(), ex=LASTS, nx=True):
            raise Conflict("One of its kind is at work: wait until that has ended.")
    threading.Thread(target=_run, args=(backend, job, words), daemon=True).start()
    audit(caller, "begin", job=kind, about=job.about)
    return job


def _words(settings: Settings, kind: JobKind, pool: str | None, name: str | None, domain: str | None) -> list[str]:
    """The words of a command; what somebody has typed is no option of it."""
    if kind == "rubric" and settings.agents_dir is None:
        raise BadInput("MEMSHARE_AGENTS_DIR of this server names no folder, in which a rubric's file would lie.")
    commands: dict[JobKind, list[str]] = {
        "backup": ["backup", str(settings.data / "backups"), "--json"],
        "consolidation": ["retriever", "consolidate", "--json"],
        "trial": ["retriever", "consolidate", "--dry-run", "--json"],
        "concepts": ["concepts", "extract", f"--pool={pool}", "--yes", "--json"],
        "recheck": ["memories", "recheck", f"--pool={pool}"],
        "rubric": ["rubric", "draft", f"--out={settings.agents_dir}/{name}{SUFFIX}", "--json", "--", domain or ""],
    }
    if (pool is None) is (kind in OF_POOL) or {name is None, domain is None} != {kind != "rubric"}:
        raise BadInput("Give 'concepts' and 'recheck' a pool, 'rubric' a name and a domain, and the others nothing.")
    return commands[kind]


def _run(backend: Backend, job: JobReply, words: list[str]) -> None:
    """Run a job to its end, in the thread with which its process ends."""
    assert backend.command is not None
    with tempfile.TemporaryFile("w+") as said:
        process, code = backend.command(words, said), None
        while code is None:
            try:
                code = process.wait(LOOK)
            except TimeoutExpired:
                with suppress(RedisError):
                    backend.redis.expire(f"{JOB}{job.kind}", LASTS)
        said.seek(0)
        last = (said.read().strip().splitlines() or ["no output"])[-1].removeprefix("memshare: ")
    ended = job.model_copy(update={"ended": time.time(), "fault": last if code else None})
    backend.redis.set(f"{JOB}{job.kind}", ended.model_dump_json(), ex=KEEP)
