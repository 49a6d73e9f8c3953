"""The arm of memshare: `memshare up` with default settings, whose agents share one pool."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from benchmarks.stream.arms import THE_MODELS, Answered, Save, batches
from benchmarks.stream.relay import Relay
from benchmarks.stream.tasks import PEOPLE, Phase, TaskSet, spoiled
from benchmarks.support.up import running_up
from memshare.client.client import ended_in_order, wait_until_idle
from memshare_agents.roster import load_roster
from memshare_broker.errors import Unreachable
from memshare_memory.curate.requests import NewMemory
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where

STALLED_AFTER = 1_800.0  # seconds in which nothing ends
LESSONS_WITHIN = 900.0  # seconds; what nobody waits for has had its time then


class SharedPool:
    """One order of the arm: an agent for each model, on one pool that lasts in a folder.

    The pool begins with the answers that people gave to the examples, where they are `brought` in; in a `poisoned` one
    one of four people gave wrong ones.
    """

    def __init__(
        self, models: Sequence[str], relay: Relay, tasks: TaskSet, folder: Path, *, poisoned: bool = False
    ) -> None:
        self._models, self._relay, self._tasks, self._folder, self._poisoned = models, relay, tasks, folder, poisoned
        self._agents = [tasks.agent, *(f"{tasks.agent}{number}" for number in range(2, len(models) + 1))]
        self._memories: dict[UUID, Memory] = {}

    def run(self, done: Sequence[Answered], at_once: int, save: Save) -> None:
        """Submit the stream and then what is unseen, some at once; `done` was answered before."""
        known = {(one.phase, one.place) for one in done}
        agents = self._folder / "agents"
        self._pool = load_roster(agents)[self._tasks.agent].pool
        text = (agents / f"{self._tasks.agent}.toml").read_text("utf-8")
        text = re.sub(r"^model = .*\n", "", text, flags=re.M)
        for name, model in zip(self._agents, self._models, strict=True):
            (agents / f"{name}.toml").write_text(f'model = "openai:{model}"\n{text}', "utf-8")
        first = f"openai:{self._models[0]}"
        with running_up(self._folder, agents, first, self._relay.url) as (client, _):
            self._client = client
            if (self._poisoned or self._tasks.brought) and not done:
                self._bring_in()
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
        ended = ended_in_order(self._client, [one.id for one in submitted], STALLED_AFTER)
        for place, task, journey in zip(places, tasks, ended, strict=True):
            shown = [self._memory(memory.id) for memory in journey.memories]
            assert any(shown) or not shown, f"no memory that was shown is in the pool {self._pool!r}"
            if journey.dead is not None and journey.dead.reason not in THE_MODELS:
                raise Unreachable(journey.dead.error)
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
                    tuple((memory.model or memory.submitter or "") if memory else "" for memory in shown),
                    journey.seconds or 0.0,
                )
            )
        return found

    def _bring_in(self) -> None:
        pool, examples = self._pool, self._tasks.examples
        answers = spoiled(examples) if self._poisoned else [task.answer for task in examples]
        self._client.memories.add(
            [
                NewMemory(
                    pool=pool,
                    new_pool=True,
                    prompt=task.prompt,
                    answer=answer,
                    kind=task.kind,
                    submitter=PEOPLE[at % 4],
                )
                for at, (task, answer) in enumerate(zip(examples, answers, strict=True))
            ]
        )
        self._learnt()

    def _memory(self, name: UUID) -> Memory | None:
        if name not in self._memories:
            self._memories = {one.id: one for one in self._client.memories.every(Where(pool=self._pool))}
        return self._memories.get(name)

    def _learnt(self) -> None:
        """Wait until nothing is under way, as between two days; or until the time for that is over."""
        with contextlib.suppress(Unreachable):
            wait_until_idle(self._client, LESSONS_WITHIN)
