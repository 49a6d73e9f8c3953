"""The records of a journey: some stay for MEMSHARE_KEEP_DAYS, details for MEMSHARE_KEEP_TRACES_DAYS, and few for ever.

Records and details lie in two hashes of the same fields, so that the details end by themselves. A `Hop` says what is a
detail. Of a journey that was opened to be kept, such as one of a standard answer, the ledger's scripts write down in a
few words what became of it, in the same step as the record, so that it is never opened, and paid for, a second time.
Which fields of a record these are, its `Stage` says.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import redis
from pydantic import BaseModel, JsonValue

from memshare_broker.delivery.schema import DEAD, ENDED, JOURNEY, KEPT, MESSAGES, RECENT, RESULT, journey_key, trace_key
from memshare_broker.observe.metrics import DEAD_REASONS
from memshare_broker.wire.messages import Record

PACKED = b"\x01"  # before what is deflated with these words; JSON never begins with it
OPINION = "opinion"
"""Field of what somebody said of the answer as a whole."""
OPINION_BEFORE = "opinion before"
"""Field of what somebody else had said, in whose place that stands."""
TAKEN_BACK = "taken back"
"""Field of how often that was taken back."""
ALSO_HID = "also hid"
"""Field of the memories that were hidden as they say the same as an answer that somebody called wrong."""
UNREMEMBERED = "memshare:unremembered_of:"
"""Sorted set of an agent: its last 2,000 tasks of which nothing is remembered, by when they were graded, or could not
be: a thousand questions, asked twice."""
UNREMEMBERED_AGENTS = "memshare:unremembered_agents"
"""Set: the agents that have had such tasks."""
DECIDED = "decided"
"""Field of who tried it again last after it was given up, or dropped it."""
SHORTEST = 100  # characters; what is shorter gains nothing
LEVEL, RAW, MEMORY = 9, -15, 6  # best compression; neither header nor checksum; a table that is quick to make

# What records are full of, the most frequent last: deflate finds it there, and need not write it. Never change it: what
# lies in Redis was packed with it. New words take another first byte.
_WORDS = (
    b'"retriever_version": "unverified"traceback": "Traceback (most recent call last):\\n  File \\"", line '
    b'"reason": "died": "tries": "kind": "gave-up", "error": "entry": {"candidates": '
    b'"positives": ["negatives": ["accuracy": "version": "labels": "probability": '
    b'"outcome": "published""held out""stored", "reason": "duplicate""replaced""rejected""not kept""memory_id": "'
    b'{"steps": [{"number": 1, "parent": null, "depth": 0, "operator": "arguments": "", "read": [], "said": "", '
    b'"knowledge": [], "verified": true, "model": null, "usage": {"prompt_tokens": 0, "completion_tokens": 0}, '
    b'"seconds": 0.0}, '
    b'{"total": 100.0, "threshold": 80.0, "accepted": true, "criteria": {"": {"low": 0.0, "high": 10.0, '
    b'"points": 20.0}, "rubric": "poem", "rubric_version": "", "model": "openai:", "usage": {"prompt_tokens": 0, '
    b'"completion_tokens": '
    b'{"id":"","task":"agents.poem","queue":"poem","body":{"prompt":"","kind":"","memories":3,"documents":[],'
    b'"submitter":"anonymous","remember":true,"not_shown":[]},"journey":"","stage":"answer","priority":3,"begins":true,'
    b'"has_result":true,"decides":true}'
    b'{"task_id": "", "agent": "poem", "kind": "limerick", "answer": "", "model": "offline", "memories": '
    b'[{"id": "", "similarity": 0.1, "share": null}, {"id": "", "similarity": 0.1, "share": null}], '
    b'"retriever_version": 0, "usage": {"prompt_tokens": 0, "completion_tokens": 0}, "seconds": 0.001, "steps": []}'
)


def pack(text: str) -> bytes:
    """A JSON text as it is kept."""
    written = text.encode(errors="surrogatepass")  # as JSON is read back
    if len(written) < SHORTEST:
        return written
    deflate = zlib.compressobj(LEVEL, zlib.DEFLATED, RAW, MEMORY, zdict=_WORDS)
    packed = PACKED + deflate.compress(written) + deflate.flush()
    return packed if len(packed) < len(written) else written


def unpack(packed: bytes) -> Any:
    """The value of what `pack` made, or of plain JSON."""
    return json.loads(plain(packed))


def plain(packed: bytes) -> bytes:
    """The same as JSON."""
    if not packed.startswith(PACKED):
        return packed
    inflate = zlib.decompressobj(RAW, zdict=_WORDS)
    return inflate.decompress(packed[len(PACKED) :]) + inflate.flush()


class OutcomeRecord(BaseModel):
    """The outcome of a journey so far; fields are None until they are known."""

    question: str | None = None
    total: float | None = None
    threshold: float | None = None
    accepted: bool | None = None
    outcome: str | None = None
    """The pair's outcome at the memory service; "not verified" for an answer that is not graded, "not graded" where no
    model grades, "dropped" for a dead letter that was, "cancelled" for a journey that was ended."""
    memory_id: UUID | None = None
    error: str | None = None
    """Why it is a dead letter, until that is retried."""

    @property
    def ended(self) -> bool:
        return self.outcome is not None or self.error is not None

    @property
    def dead(self) -> bool:
        return self.outcome is None and self.error is not None


def read_outcomes(client: redis.Redis, journeys: Sequence[str]) -> dict[str, OutcomeRecord]:
    """The outcomes of these journeys; journeys that were never opened are left out."""
    texts = client.hmget(KEPT, list(journeys)) if journeys else []
    return {
        journey: OutcomeRecord.model_validate_json(text) for journey, text in zip(journeys, texts, strict=True) if text
    }


def forgo(client: redis.Redis, journey: str) -> None:
    """Note of a journey that is kept that its dead letter was dropped: nothing more becomes of it."""
    known = read_outcomes(client, [journey]).get(journey)
    if known is not None and known.outcome is None:
        text = known.model_copy(update={"outcome": "dropped"}).model_dump_json(exclude_none=True)
        client.hset(KEPT, journey, text)


LISTED = 1_000  # journeys that a sorted set of the latest has, as the scripts trim it
ASKED_TWICE = 2_000  # tasks of which nothing is remembered that are known of an agent


def recent(client: redis.Redis, most: int = 0, agent: str | None = None) -> list[str]:
    """The last thousand, the latest first, or `most` of them; of all, or of one agent."""
    key = RECENT if agent is None else f"{RECENT}:{agent}"
    return [str(journey) for journey in client.zrange(key, 0, most - 1, desc=True)]


def unremembered(client: redis.Redis) -> set[str]:
    """The last 2,000 tasks of each agent of which nothing is remembered."""
    agents = map(str, client.smembers(UNREMEMBERED_AGENTS))
    return {str(journey) for agent in agents for journey in client.zrange(UNREMEMBERED + agent, 0, -1)}


def note_unremembered(client: redis.Redis, agent: str, journey: str) -> None:
    """Note a task that is not to be remembered and had its turn at the scorer, so that others do not push it out."""
    client.sadd(UNREMEMBERED_AGENTS, agent)
    client.zadd(UNREMEMBERED + agent, {journey: time.time()})
    client.zremrangebyrank(UNREMEMBERED + agent, 0, -1 - ASKED_TWICE)


def naming(client: redis.Redis, journeys: Sequence[str], name: str, *stages: str) -> list[str]:
    """The journeys in whose records of these stages a name stands, such as an id; all records are read at once."""
    with client.pipeline(transaction=False) as ask:
        for journey in journeys:
            ask.execute_command("HMGET", journey_key(journey), *stages, NEVER_DECODE=True)  # type: ignore[no-untyped-call]
        found = ask.execute()
    wanted = name.encode()
    records = zip(journeys, found, strict=True)
    return [journey for journey, texts in records if any(wanted in plain(each) for each in texts if each)]


def note(client: redis.Redis, journey: str, name: str, value: JsonValue, *, once: bool = False) -> None:
    """Let a journey show what was told of it under this name; with `once` the first word stands."""
    (client.hsetnx if once else client.hset)(journey_key(journey), name, pack(json.dumps(value)))


def unnote(client: redis.Redis, journey: str, *names: str) -> None:
    client.hdel(journey_key(journey), *names)


def noted(client: redis.Redis, journey: str, name: str) -> Any:
    """Read what was noted of a journey under this name; None where nothing was."""
    packed = ask_noted(client, journey, name)
    return packed and unpack(packed)


def ask_noted(client: redis.Redis, journey: str, name: str) -> Any:
    """Ask for the same, in a pipeline too; the reply is packed."""
    return client.execute_command("HGET", journey_key(journey), name, NEVER_DECODE=True)  # type: ignore[no-untyped-call]


def ended_at(records: Mapping[str, Any]) -> dict[str, float]:
    """When the message of each stage ended, as Unix time in seconds, as far as the records of a journey say it."""
    return {name.removeprefix(ENDED): at for name, at in records.items() if name.startswith(ENDED)}


def unname(client: redis.Redis, person: str) -> None:
    """Keep what a person said of answers and did with dead letters, but forget who it was."""
    for key in client.scan_iter(JOURNEY + "*", count=1000):
        name = str(key).removeprefix(JOURNEY)
        for field in (OPINION, DECIDED):
            if (said := noted(client, name, field)) and said["by"] == person:
                note(client, name, field, {**said, "by": "somebody"})


class Removed(NamedTuple):
    """Numbers of the journeys and dead letters that were removed, and of open messages, which stay."""

    journeys: int
    dead_letters: int
    open_messages: int


def remove_records(client: redis.Redis, is_wanted: Callable[[str, Any], bool]) -> Removed:
    """Remove all that is known of some journeys, and their dead letters.

    `is_wanted` is asked with a journey's id and something that is known of it. Messages that are still open are counted
    and stay, for their tasks are under way; what is known for ever keeps all but the question.
    """
    names = (str(key).removeprefix(JOURNEY) for key in client.scan_iter(JOURNEY + "*", count=1000))
    journeys = [name for name in names if is_wanted(name, read_records(client, [name])[0])]
    for name in journeys:
        client.delete(journey_key(name), trace_key(name), RESULT + name)
    dead = [str(message) for message, text in client.hscan_iter(DEAD) if _is_wanted(text, is_wanted)]
    if dead:
        client.hdel(DEAD, *dead)
        client.hdel(DEAD_REASONS, *dead)
    for name, text in client.hscan_iter(KEPT):
        if is_wanted(str(name), json.loads(text)):
            outcome = OutcomeRecord.model_validate_json(text).model_copy(update={"question": None})
            client.hset(KEPT, name, outcome.model_dump_json(exclude_none=True))
    still_open = sum(_is_wanted(text, is_wanted) for _, text in client.hscan_iter(MESSAGES))
    return Removed(len(journeys), len(dead), still_open)


def _is_wanted(text: str, is_wanted: Callable[[str, Any], bool]) -> bool:
    """The same of an entry, or of a dead letter, which has its entry inside."""
    value = json.loads(text)
    return is_wanted(str(value.get("entry", value).get("journey")), value)


def split(record: Record, details: Collection[str] | None) -> tuple[Record | None, Record]:
    """The record and its details: fields in whose place an empty one of the same type stays.

    With None for `details` all are, and the record is None.
    """
    if details is None:
        return None, record
    apart = {name: record[name] for name in details if record.get(name)}
    return record | {name: type(value)() for name, value in apart.items()}, apart


def join(lasting: bytes, details: bytes | None) -> Record:
    """The record of two packed halves, as far as they are still there."""
    return (unpack(lasting) or {}) | (unpack(details) if details else {})


def read_records(client: redis.Redis, journeys: Sequence[str]) -> list[dict[str, Any]]:
    """The records of each of these journeys, by stage, read in one step; empty for an unknown id."""
    asking = client.pipeline(transaction=False)
    for journey in journeys:
        for key in (journey_key(journey), trace_key(journey)):
            asking.execute_command("HGETALL", key, NEVER_DECODE=True)  # type: ignore[no-untyped-call]
    found = iter(asking.execute())
    return [_joined(lasting, details) for lasting, details in zip(found, found, strict=True)]


def _joined(lasting: Mapping[bytes, bytes], details: Mapping[bytes, bytes]) -> dict[str, Any]:
    if not lasting:
        return {}
    records = {name.decode(): unpack(packed) for name, packed in lasting.items()}
    for name, packed in details.items():
        before, value = records.get(name.decode()), unpack(packed)
        records[name.decode()] = before | value if before else value
    return {name: value for name, value in records.items() if value is not None}
