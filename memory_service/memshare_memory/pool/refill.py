"""Fills a store with the memories of a backup, in a process of its own that ends.

`python -m memshare_memory.pool.refill JOB` reads them from standard input, a `RawMemory` a line, and prints
what it has done.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from uuid import UUID

from pydantic import ConfigDict, ValidationError

from memshare_broker.errors import BadInput, MemshareError
from memshare_broker.settings import Settings, load_settings
from memshare_broker.wire.forms import readable
from memshare_broker.wire.messages import Embedding, Message
from memshare_memory.memory import Memory
from memshare_memory.pool.known_pools import Refilled, RefillJob
from memshare_memory.recall.recall import sparse_of
from memshare_memory.stores.open_store import open_folder, open_store, put_in_use
from memshare_memory.stores.points import unpacked
from memshare_memory.stores.store import Layout, RawPage, Store, Vectors, pages

BATCH = 256
PAGE = 1_000


class _Line(Message):
    """Fields of a `RawMemory` (`memshare_memory.door.messages`) that are needed."""

    model_config = ConfigDict(extra="ignore")

    text: str | None = None
    dense: Embedding | None = None
    masked: str | None = None


def refill(settings: Settings, job: RefillJob, lines: Iterator[bytes]) -> Refilled:
    """Write the memories; what else stands in the store is removed at the end, when they are all there."""
    left_out = 0
    first = None
    for line in lines:
        first = _item(job.encoder, line)
        if first is not None:
            break
        left_out += 1
    if first is None:
        raise BadInput("There is no memory in it that can be read.")
    layout = Layout(job.encoder, len(first[1].dense))
    written: set[UUID] = set()
    with closing(_open(settings, job, layout)) as store:
        there = {one.id for page in pages(partial(_ids, store)) for one in page.points}
        if there and not job.replace:
            raise BadInput(f"The store has {len(there)} memories; --replace puts those of the backup in their place.")
        batch = [first]
        for line in lines:
            item = _item(job.encoder, line)
            left_out += item is None
            batch += [item] if item else []
            if len(batch) >= BATCH:
                store.put(batch)
                written |= {memory.id for memory, _ in batch}
                batch = []
        store.put(batch)
        written |= {memory.id for memory, _ in batch}
        store.delete(sorted(there - written))
    if job.folder is None:
        put_in_use(settings, layout)
    return Refilled(written=len(written), left_out=left_out)


def _open(settings: Settings, job: RefillJob, layout: Layout) -> Store:
    if job.folder is not None:
        return open_folder(Path(job.folder), layout, "memshare restore")
    return open_store(settings, layout, "memshare restore", beside=True)


def _item(encoder: str, line: bytes) -> tuple[Memory, Vectors] | None:
    """A memory with its vectors; None where it could not be read when the backup was made."""
    found = _Line.model_validate_json(line)
    if found.text is None or found.dense is None:
        return None
    memory = Memory.model_validate_json(found.text)
    if found.dense.encoder != encoder:
        raise BadInput(f"The memory {memory.id} has a vector of {found.dense.encoder!r} and not of {encoder!r}.")
    masked = None if found.masked is None else unpacked(found.masked)
    return memory, Vectors(found.dense.unpack(), sparse_of(memory), masked)


def _ids(store: Store, after: UUID | None) -> RawPage:
    return store.raw(PAGE, after, text_alone=True)


def main() -> None:
    job = RefillJob.model_validate_json(sys.argv[1])
    try:
        done = refill(load_settings(), job, iter(sys.stdin.buffer))
    except MemshareError as error:
        done = Refilled(error=str(error))
    except ValidationError as error:
        done = Refilled(error=readable(error, "A memory of the backup"))
    print(done.model_dump_json(ensure_ascii=True))


if __name__ == "__main__":
    main()
