"""The rivals: a bare model that is shown nothing, always the same, or right answers of its own that are nearest.

After StreamBench (arXiv 2406.08747): only right answers are kept. All are asked in memshare's own words, so that what
is shown is all that differs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.stream.tasks import PHASES, Phase, Task, TaskSet
from memshare_agents.answering import build_prompt
from memshare_agents.roster import load_roster
from memshare_broker.errors import REFUSALS, GiveUp, Reason, TryAgain
from memshare_broker.wire.messages import Turn, derived_id
from memshare_llm.chat import Chat
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.memory import Memory
from memshare_memory.recall.recall import masked

K = 3  # examples
TRIES = 6  # of one call, as workers have by default
PAUSE = 1.0  # seconds after the first one; each is twice as long as the one before

THE_MODELS = frozenset[Reason]({"cut off", "invalid reply", "time-out", "too long"}) | REFUSALS
"""Reasons of no answer that lie with the model: it counts as wrong. After any other the arm breaks off."""

Save = Callable[["Answered"], None]


class Answered(NamedTuple):
    """What became of a task at a place of the stream, or of the unseen ones: `shown` are texts, the best first."""

    phase: Phase
    place: int
    model: str
    answer: str
    right: bool
    shown: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    """The models, or people, that wrote what was shown."""
    seconds: float = 0.0


def batches(tasks: TaskSet, at_once: int) -> Iterator[tuple[Phase, range]]:
    """The places of the stream, some at once, and then those of what is unseen."""
    for phase in PHASES:
        count = len(tasks.of(phase))
        yield from ((phase, range(start, min(start + at_once, count))) for start in range(0, count, at_once))


class Bare:
    """One arm of one order: it answers tasks, and keeps what was right."""

    def __init__(self, arm: str, chats: Sequence[Chat], encoder: Encoder, tasks: TaskSet, folder: Path) -> None:
        self._arm, self._chats, self._encoder, self._tasks = arm, chats, encoder, tasks
        self._agent = load_roster(folder)[tasks.agent]
        self._kept: list[Memory] = []
        self._vectors: list[np.ndarray] = []
        self._forms: list[str | None] = []
        for task in tasks.examples if tasks.brought else ():
            self._keep(task, task.answer, "people")

    def run(self, done: Sequence[Answered], at_once: int, save: Save) -> None:
        """Answer the stream and then what is unseen, some at once; `done` was answered before."""
        known = {(one.phase, one.place): one for one in done}
        for phase, places in batches(self._tasks, at_once):
            with ThreadPoolExecutor(at_once) as threads:
                waiting = [
                    None if (phase, place) in known else threads.submit(self._ask, phase, place) for place in places
                ]
            for place, one in zip(places, waiting, strict=True):
                answered = known[phase, place] if one is None else self._checked(one.result())
                if one is not None:
                    save(answered)
                if phase == "stream" and answered.right:
                    self._keep(self._tasks.stream[place], answered.answer, answered.model)

    def _ask(self, phase: Phase, place: int) -> Answered:
        task = self._tasks.of(phase)[place]
        chat = self._chats[place % len(self._chats)]
        shown = self._shown(task, chat.name)
        turns = build_prompt(self._agent.kind(task.kind).instructions, shown, (Turn(role="user", content=task.prompt),))
        began = time.monotonic()
        answer = _reply(chat, turns)
        return Answered(
            phase,
            place,
            chat.name,
            answer,
            False,
            tuple(one.answer for one in shown),
            tuple(one.model or "" for one in shown),
            round(time.monotonic() - began, 2),
        )

    def _checked(self, one: Answered) -> Answered:
        prompt = self._tasks.of(one.phase)[one.place].prompt
        return one._replace(right=bool(one.answer) and self._tasks.check(prompt, one.answer))

    def _shown(self, task: Task, model: str) -> list[Memory]:
        match self._arm:
            case "alone":
                return []
            case "fixed":
                same = [one for one in self._tasks.examples if one.kind == task.kind][:K]
                return [_memory(one, one.answer, "people") for one in same]
        own = [at for at, one in enumerate(self._kept) if self._arm == "shared" or one.model in (model, "people")]
        if not own:
            return []
        near = np.stack([self._vectors[at] for at in own]) @ self._vector(task.prompt)
        if self._arm == "possible":  # the best retriever knows which answers are made alike
            near += [2.0 * (self._forms[at] == task.form) for at in own]
        return [self._kept[own[at]] for at in np.argsort(-near, kind="stable")[:K]]

    def _keep(self, task: Task, answer: str, model: str) -> None:
        if all(kept.prompt != task.prompt or kept.model != model for kept in self._kept):
            self._kept.append(_memory(task, answer, model))
            self._vectors.append(self._vector(task.prompt))
            self._forms.append(task.form)

    def _vector(self, prompt: str) -> np.ndarray:
        text = masked(prompt) if self._arm == "masked" else prompt
        return np.asarray(self._encoder.encode([text])[0])


def _reply(chat: Chat, turns: Sequence[Turn]) -> str:
    """The answer, empty where the model has none; a server that is away is asked again, and raises if it stays so."""
    for tried in range(TRIES):
        try:
            return chat.reply(turns).text
        except (TryAgain, GiveUp) as error:
            if error.reason in THE_MODELS:
                break
            if isinstance(error, GiveUp) or tried == TRIES - 1:
                raise
            time.sleep(error.wait or PAUSE * 2**tried)
    return ""


def _memory(task: Task, answer: str, model: str) -> Memory:
    name = derived_id(task.prompt, answer, model)
    return Memory(id=name, pool="bare", prompt=task.prompt, answer=answer, kind=task.kind, model=model, created=0)
