"""What experiments ask of a deployment, by commands and by the client."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from uuid import UUID

from benchmarks.report import milliseconds
from benchmarks.support import server
from benchmarks.support.counts import Counts
from benchmarks.support.replies import Pair
from memshare.client.client import Client
from memshare.client.pools import encoder_in_use
from memshare_broker.connection import connect
from memshare_llm.batches import HOLD
from memshare_memory.curate.requests import NewMemory
from memshare_memory.door.messages import RecallRequest
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where
from memshare_trainer.consolidation import consolidation_state
from memshare_trainer.consolidation.consolidation_state import count_lessons, read_state

MEMSHARE = str(Path(sys.executable).with_name("memshare"))
PATIENCE = 1_200.0  # seconds
LOOK_EVERY = 0.05  # seconds
SHOWN = 3


class Refused(Exception):
    """A command of memshare failed, and said why."""


class Answered(NamedTuple):
    """What an agent answered, and which memories it was shown."""

    answer: str
    shown: tuple[str, ...]


class Deployment:
    """A deployment that runs, whose main pool has the name of its agent."""

    def __init__(self, client: Client, url: str, environment: dict[str, str], folder: Path, pool: str) -> None:
        self.client = client
        self.pool = pool
        self.url = url
        self.environment = environment
        self._folder = folder
        self._consolidates = environment.get("MEMSHARE_CONSOLIDATE") != "false"

    def command(self, *words: str) -> Any:
        """What a command of memshare says, as JSON; raises `Refused` where it fails."""
        run = subprocess.run([MEMSHARE, *words, "--json"], env=self.environment, capture_output=True, text=True)
        if run.returncode:
            raise Refused(run.stderr.strip() or f"memshare {' '.join(words)} ended with {run.returncode}.")
        return json.loads(run.stdout.splitlines()[-1])

    def bring_in(self, pairs: Sequence[Pair], submitters: Sequence[str], pool: str) -> list[UUID]:
        """Import prompts with their answers, each of its submitter, as they are."""
        new = [
            NewMemory(pool=pool, new_pool=True, prompt=prompt, answer=answer, agent=self.pool, submitter=submitter)
            for (prompt, answer), submitter in zip(pairs, submitters, strict=True)
        ]
        ids = self.client.memories.add(new)
        self.settled()
        return ids

    def seed(self, pairs: Sequence[Pair], submitters: Sequence[str]) -> None:
        """Have prompts graded with their answers, and learnt from; each submitter brings in its own."""
        for submitter in dict.fromkeys(submitters):
            file = self._folder / f"{submitter}.jsonl"
            own = [one for one, by in zip(pairs, submitters, strict=True) if by == submitter]
            file.write_text("".join(json.dumps({"prompt": prompt, "answer": answer}) + "\n" for prompt, answer in own))
            self.command("seed", str(file), "--agent", self.pool, "--submitter", submitter)
        self.settled(called=True)

    def ask(
        self, prompts: Sequence[str], agents: Sequence[str], submitters: Sequence[str], *, remember: bool
    ) -> list[Answered]:
        """Submit tasks at once, to agents and by submitters in turn; the answers, when all that follows is done."""
        submitted = [
            self.client.submit(
                agents[place % len(agents)],
                prompt,
                submitter=submitters[place % len(submitters)],
                remember=remember,
            )
            for place, prompt in enumerate(prompts)
        ]
        results = [one.get(PATIENCE) for one in submitted]
        self.settled()
        return [Answered(one["answer"], tuple(str(memory["id"]) for memory in one["memories"])) for one in results]

    def recall(self, prompt: str, pool: str) -> list[Memory]:
        """What is shown for a prompt, the best first."""
        found = self.client.memories.recall(RecallRequest(pool=pool, text=prompt, k=SHOWN))
        return [one.memory for one in found.found]

    def settled(self, *, called: bool = False) -> None:
        """Wait until nothing is under way: no message is open, and no consolidation runs or is about to.

        Memories that wait for others, to share a call, are waited for only where all are to be `called` for.
        """
        deadline = time.monotonic() + PATIENCE
        with closing(connect(self.client.settings.redis)) as redis:
            while self._open(called=called) or self._consolidating(redis):
                if time.monotonic() > deadline:
                    state = read_state(redis)
                    raise SystemExit(f"Still open after {PATIENCE:g} s: {self.client.ledger.open_messages()}, {state}")
                time.sleep(LOOK_EVERY)

    def _open(self, *, called: bool) -> bool:
        opened = self.client.ledger.open_messages()
        if not called:
            for one in self.client.ledger.parked.all():
                opened[one.queue] -= one.hold.startswith(HOLD)
        return any(count > 0 for count in opened.values())

    def _consolidating(self, redis: Any) -> bool:
        state, lessons = read_state(redis), count_lessons(redis, encoder_in_use(self.client.settings, redis))
        starts = consolidation_state.starts(lessons, state.lessons, consolidation_state.memories(redis))
        due = self._consolidates and starts
        return due or state.running is not None

    def counts(self) -> Counts:
        """Calls and tokens so far, by kind, when all that was called for is done."""
        self.settled(called=True)
        return server.counts(self.url)

    def stored(self) -> int:
        """How many memories the pool has."""
        return self.client.memories.stats().by_pool.get(self.pool, 0)

    def active_share(self) -> float:
        """The share of the memories that count in full: a person brought them in, or their submitter is proven."""
        submitters = self.command("retriever", "status")["pools"].get(self.pool, {}).get("submitters", {})
        proven = {name for name, standing in submitters.items() if standing["proven"]}
        full = [
            memory.task_id is None or memory.submitter in proven
            for memory in self.client.memories.every(Where(pool=self.pool))
        ]
        return sum(full) / len(full)

    def learnt(self) -> dict[str, Any]:
        """The pool's version, what became of its lessons, and the encoder with what became of its consolidations."""
        status = self.command("retriever", "status")
        pool = status["pools"].get(self.pool, {})
        lessons = {"version": pool.get("version", 0), **pool.get("lessons", {}), "evidence": pool.get("evidence", 0)}
        outcome = {name: status["consolidation"][name] for name in ("outcome", "reason")}
        return {**lessons, "encoder": status["encoder"], **outcome}

    def recall_ms(self, prompts: Sequence[str]) -> float:
        """How long a recall at the door takes, the median of one after another."""
        return median(milliseconds(self.recall, prompt, self.pool) for prompt in prompts)
