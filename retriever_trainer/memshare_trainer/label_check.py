"""Whether a model's labels agree with what was graded: a memory that an accepted answer followed leads to that answer.

Labels that contradict this teach a retriever what is wrong: a model whose labels often do is asked for none for a day,
and before that they weigh less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

import redis

from memshare_broker.wire.lessons import Evidence
from memshare_llm.doubts import Doubts

DAY = 86_400  # seconds
FEWEST = 20  # labels of memories that were followed
MANY = 0.4  # share that contradicts; labels by chance have .5
EVEN = 0.5  # of a label that says nothing, and of a grade between good and bad
_WHAT = "labels"


class LabelCheck:
    """Checks the labels of one model, for all trainers of one Redis."""

    def __init__(self, client: redis.Redis, model: str) -> None:
        self._client = client
        self._model = model
        self._pause = f"memshare:labels_paused:{model}"

    def paused(self) -> str | None:
        """Why the model is asked for no labels now; None where it is."""
        found = self._client.get(self._pause)
        return str(found) if found else None

    def trust(self) -> float:
        """How much a lesson by this model weighs, 0 to 1: by how much its labels are better than chance.

        1 - 2 w, for the share w of those that contradict what was graded; of fewer than `FEWEST` all others agree.
        """
        known = [one for one in Doubts(self._client, _WHAT).found(1, 0.0) if one.model == self._model]
        wrong = sum(one.doubtful / max(one.times, FEWEST) for one in known)
        return max(0.0, 1 - wrong / EVEN)

    def note(self, labels: Mapping[UUID, float], pair: UUID, said: Iterable[Evidence]) -> None:
        """Compare a lesson's labels, P(¬Y) of each candidate, with the words on what the answer `pair` followed."""
        followed = [one for one in said if one.pair == pair and one.helped > EVEN and one.memory.id in labels]
        judged = [one for one in followed if labels[one.memory.id] != EVEN]
        if not judged:
            return
        doubts = Doubts(self._client, _WHAT)
        wrong = sum(labels[one.memory.id] > EVEN for one in judged)
        doubts.note(self._model, _WHAT, doubtful=wrong, times=len(judged))
        for one in doubts.found(FEWEST, MANY):
            if one.model == self._model:
                why = (
                    f"{one.model} labelled {one.doubtful} of {one.times} memories as misleading that accepted answers "
                    "had followed. It is asked for no labels for a day: MEMSHARE_MODEL_TRAINER names another model."
                )
                self._client.set(self._pause, why, ex=DAY)
                doubts.forget(self._model, _WHAT)  # after the pause it is a new trial


def paused_labels(client: redis.Redis) -> list[str]:
    """Why models are asked for no labels now."""
    return [str(client.get(key) or "") for key in client.scan_iter("memshare:labels_paused:*")]
