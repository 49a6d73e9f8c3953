"""The arm of memshare: `memshare up` with default settings, whose agents share one pool."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from benchmarks.stream.arms import Answered, Save, batches
from benchmarks.stream.relay import Relay
from benchmarks.stream.tasks import Phase, TaskSet
from benchmarks.support.up import running_up
from memshare.client.client import Client
from memshare.client.journey import Journey
from memshare_broker.errors import MemshareError
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where

STALLED_AFTER = 1_800.0  # seconds in which nothing ends
LESSONS_WITHIN = 900.0  # seconds; what nobody waits for has had its time then
LOOK_EVERY = 0.2  # seconds


class SharedPool:
    """One order of the arm: an agent for each model, on one pool that lasts in a folder."""

    def __init__(self, models: Sequence[str], relay: Relay, tasks: TaskSet, folder: Path, **settings: str) -> None:
        self._models, self._relay, self._tasks, self._folder, self._settings = models, relay, tasks, folder, settings
        self._agents = [tasks.agent, *(f"{tasks.agent}{number}" for number in range(2, len(models) + 1))]
        self._memories: dict[UUID, Memory] = {}

    def run(self, done: Sequence[Answered], at_once: int, save: Save) -> None:
        """Submit the stream and then what is unseen, some at once; `done` was answered before."""
        known = {(one.phase, one.place) for one in done}
        agents = self._folder / "agents"
        text = (agents / f"{self._tasks.agent}.toml").read_text("utf-8")
        text = re.sub(r"^model = .*\n", "", text, flags=re.M)
        for name, model in zip(self._agents, self._models, strict=True):
            (agents / f"{name}.toml").write_text(f'model = "openai:{model}"\n{text}', "utf-8")
        first = f"openai:{self._models[0]}"
        with running_up(self._folder, agents, first, self._relay.url, **self._settings) as (client, _):
            self._client = client
            before: Phase = "stream"
            for phase, places in batches(self._tasks, at_once):
                left = [place for place in places if (phase, place) not in known]
                if phase != before and left:
                    self._learnt()
                before = phase
                for one in self._ask(phase, left):
                    save(one)

    def _ask(self, phase: Phase, places: Sequence[int]) -> list[Answered]:
        tasks = [self._tasks.of(phase)[place] for place in places]
        kept = phase == "stream"
        submitted = [
            self._client.submit(
                self._agents[place % len(self._agents)], task.prompt, kind=task.kind, submitter="ada", remember=kept
            )
            for place, task in zip(places, tasks, strict=True)
        ]
        found = []
        for place, task, one in zip(places, tasks, submitted, strict=True):
            journey = _over(self._client, one.id)
            shown = [self._memory(memory.id) for memory in journey.memories]
            if journey.answer is not None:
                self._relay.assert_sent(task.prompt, [memory.answer for memory in shown if memory is not None])
            found.append(
                Answered(
                    phase,
                    place,
                    f"openai:{self._models[place % len(self._models)]}",
                    journey.answer or "",
                    bool(journey.answer) and self._tasks.check(task.prompt, journey.answer or ""),
                    tuple(memory.answer if memory else "" for memory in shown),
                    tuple((memory.model or "") if memory else "" for memory in shown),
                    journey.seconds or 0.0,
                )
            )
        return found

    def _memory(self, name: UUID) -> Memory | None:
        if name not in self._memories:
            pool = Where(pool=self._tasks.agent)
            self._memories = {one.id: one for one in self._client.memories.every(pool)}
        return self._memories.get(name)

    def _learnt(self) -> None:
        """Wait until nothing is under way, as between two days; or until the time for that is over."""
        deadline = time.monotonic() + LESSONS_WITHIN
        while any(self._client.ledger.open_messages().values()) and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY)


def _over(client: Client, task: str) -> Journey:
    """The journey of a task once its pair was settled, given up or could not be graded."""
    deadline = time.monotonic() + STALLED_AFTER
    while True:
        journey = client.journey(task)
        if journey.ended or journey.outcome is not None:
            return journey
        if time.monotonic() > deadline:
            raise MemshareError(f"Task {task} has not ended for {STALLED_AFTER:.0f} s: {client.ledger.open_messages()}")
        time.sleep(LOOK_EVERY)
