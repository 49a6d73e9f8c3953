"""Jobs: a command of this machine in a process of its own, for who has no shell; its end is noted in Redis."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from subprocess import TimeoutExpired
from typing import Annotated, Any, get_args
from uuid import UUID

import redis
from pydantic import Field
from redis.exceptions import RedisError

from memshare.client.errors import Conflict
from memshare.client.rest.calls.operating import JobKind, JobReply, Jobs
from memshare.files.graded.sources import Source
from memshare.operations.backend import Backend
from memshare.operations.caller import Caller, audit
from memshare.operations.serving import serves
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings
from memshare_broker.wire.forms import InWords, Label
from memshare_concepts.open_questions import Told
from memshare_concepts.quoting import EXAMPLES, LONGEST, MOST_CHARACTERS
from memshare_llm.chat import CHARACTERS_PER_TOKEN
from memshare_scorer.rubric import SUFFIX
from memshare_scorer.rubric_file import DOMAIN_LIMIT

JOB = "memshare:job:"
"""Key of the last job of a kind, which is gone soon after the process that follows it."""
LASTS, LOOK, KEEP = 60, 5, 7 * 86_400  # seconds
OF_POOL: tuple[JobKind, ...] = ("concepts", "questions", "recheck", "summary")
TAKES: dict[JobKind, set[str]] = {
    "concepts": {"pool"}, "recheck": {"pool"}, "rubric": {"name", "domain"},
    "questions": {"pool", "clusters"}, "summary": {"pool", "clusters"}, "purge": {"memories"}, "import": {"lines"},
}  # fmt: skip
"""Kind of job → the fields that it has to be given, if any."""
MAY_TAKE: dict[JobKind, set[str]] = {
    "questions": {"topic", "goal"}, "import": {"pool", "new_pool", "source", "score", "at_least", "scale"},
}  # fmt: skip
TOKENS: dict[JobKind, int] = {
    "questions": 2 * EXAMPLES * LONGEST // CHARACTERS_PER_TOKEN, "summary": MOST_CHARACTERS // CHARACTERS_PER_TOKEN,
}  # fmt: skip
"""Of the memories in a call of the agents' model, at most."""
MOST_PURGED = 200  # memories at once: as many as the page's trash shows
MOST_CLUSTERS = 4  # of new questions: each then has two examples, and all of them eight
ClusterNumbers = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1, max_length=MOST_CLUSTERS)]
RubricPath = Annotated[
    str,
    Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,60}$"),
    InWords("up to 61 letters (a-z), digits, - and _, the first a letter or a digit"),
]


@serves(Jobs.list, right="admin")
def jobs(backend: Backend, caller: Caller) -> list[JobReply]:
    """The last jobs; who does not see all pools is told of those on their own."""
    kinds = get_args(JobKind) if caller.pools is None else OF_POOL
    return [one for one in _last(backend, *kinds) if caller.sees(one.about)]


def _last(backend: Backend, *kinds: JobKind) -> list[JobReply]:
    with backend.reaching():
        texts = backend.redis.mget([f"{JOB}{kind}" for kind in kinds])
    return [JobReply.model_validate_json(text) for text in texts if text]


@serves(Jobs.begin, "JobForm", right="admin")
def begin(
    backend: Backend,
    caller: Caller,
    kind: JobKind,
    pool: Label | None = None,
    name: RubricPath | None = None,
    domain: Annotated[str | None, Field(min_length=1, max_length=DOMAIN_LIMIT)] = None,
    clusters: ClusterNumbers | None = None,
    topic: Told | None = None,
    goal: Told | None = None,
    memories: Annotated[tuple[UUID, ...], Field(min_length=1, max_length=MOST_PURGED)] | None = None,
    lines: Annotated[str, Field(min_length=1)] | None = None,
    new_pool: bool | None = None,
    source: Source | None = None,
    score: str | None = None,
    at_least: float | None = None,
    scale: str | None = None,
) -> JobReply:
    """Begin a job; raises `Conflict` while one of its kind is at work, `BadInput` for what this server cannot do."""
    caller.require_pool(pool or "") if kind in OF_POOL else caller.require_all()
    given: dict[str, Any] = {"pool": pool, "name": name, "domain": domain, "clusters": clusters, "topic": topic}
    given |= {"goal": goal, "memories": memories, "lines": lines, "new_pool": new_pool or None, "source": source}
    given |= {"score": score, "at_least": at_least, "scale": scale}
    words = _words(backend.settings, caller.name, kind, **given)
    if backend.command is None:
        raise BadInput("This server begins no jobs: use the command line of a machine of this deployment.")
    job = JobReply(kind=kind, about=pool or name or "", clusters=clusters or (), by=caller.name, began=time.time())

    def put(change: redis.client.Pipeline) -> None:
        last = change.get(f"{JOB}{kind}")
        if last and not JobReply.model_validate_json(last).ended:
            raise Conflict("One of its kind is at work: wait until that has ended.")
        change.multi()
        change.set(f"{JOB}{kind}", job.model_dump_json(), ex=LASTS)

    with backend.reaching():
        backend.redis.transaction(put, f"{JOB}{kind}")  # read again where another began meanwhile
    threading.Thread(target=_run, args=(backend, job, words, lines), daemon=True).start()
    audit(caller, "begin", job=kind, about=job.about, memories=[*map(str, memories or ())])
    return job


def _words(settings: Settings, payer: str, kind: JobKind, **given: Any) -> list[str]:
    """The words of a command; what somebody has typed is no option of it."""
    pool, name, clusters = given["pool"], given["name"], given["clusters"] or ()
    there = {field for field, value in given.items() if value is not None}
    if there - MAY_TAKE.get(kind, set()) != TAKES.get(kind, set()):
        raise BadInput(f"Give {kind!r} {' and '.join(sorted(TAKES.get(kind, ()))) or 'nothing'} beside its kind.")
    if kind == "summary" and len(clusters) > 1:
        raise BadInput(f"A summary is of one cluster, not of {len(clusters)}.")
    if kind == "rubric" and settings.agents_dir is None:
        raise BadInput("MEMSHARE_AGENTS_DIR of this server names no folder, in which a rubric's file would lie.")
    told = [f"--{field}={given[field]}" for field in ("topic", "goal") if given[field]]
    paid = [f"--pool={pool}", f"--submitter={payer}", "--json"]
    commands: dict[JobKind, list[str]] = {
        "backup": ["backup", str(settings.data / "backups"), "--json"],
        "consolidation": ["retriever", "consolidate", "--json"],
        "trial": ["retriever", "consolidate", "--dry-run", "--json"],
        "concepts": ["concepts", "extract", f"--pool={pool}", "--yes", "--json"],
        "recheck": ["memories", "recheck", f"--pool={pool}"],
        "rubric": ["rubric", "draft", f"--out={settings.agents_dir}/{name}{SUFFIX}", "--json", "--", given["domain"]],
        "purge": ["memories", "purge", *map(str, given["memories"] or ()), "--yes", "--json"],
        "import": ["memories", "import", *_of_file(given), f"--submitter={payer}", "--json"],
        "questions": ["concepts", "ask", *(f"--cluster={one}" for one in clusters), *told, *paid],
        "summary": ["concepts", "summary", *map(str, clusters), "--again", *paid],
    }
    return commands[kind]


def _of_file(given: Mapping[str, Any]) -> list[str]:
    """The options of an import; its file is named last."""
    named = {"pool": "pool", "source": "from", "score": "score", "at_least": "at-least", "scale": "scale"}
    options = [f"--{option}={given[field]}" for field, option in named.items() if given[field] is not None]
    return [*options, *["--new-pool"] * bool(given["new_pool"])]


def _run(backend: Backend, job: JobReply, words: list[str], lines: str | None) -> None:
    """Run a job to its end, in the thread with which its process ends; its `lines` are in a file until then."""
    assert backend.command is not None
    with tempfile.TemporaryFile("w+") as said, tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        if lines is not None:
            file.write(lines)
            file.flush()
            words = [*words, file.name]
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
    if job.kind in OF_POOL:
        backend.concepts.pop(job.about, None)  # what was computed before lacks what it brought
    backend.redis.set(f"{JOB}{job.kind}", ended.model_dump_json(), ex=KEEP)
