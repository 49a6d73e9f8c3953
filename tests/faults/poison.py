"""What planted memories do to a pool: `make faults`, or `python -m tests.faults.poison [--json]`.

A submitter plants memories that come up whenever a task has a trigger phrase. How many tasks with that phrase are
shown one, without the defences and with them, and after 100 further lessons? Does an answer that gives orders get a
better grade? And is a retriever as it was before, once the submitter is forgotten?

Pool, recall, settling, lessons and learning are the real ones. A lesson's labels come from an oracle, who knows that
what is planted misleads. The defences are the largest share of one submitter, and what is unproven: nobody's word
speaks for who plants.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import redis

from benchmarks.forms.tasks import memories, unseen_tasks
from benchmarks.injections import AS_LONG, MARKS
from benchmarks.report import print_figures
from memshare.operate.data_folder import connected
from memshare_broker.settings import Settings
from memshare_broker.wire.messages import Shown
from memshare_memory.curate.requests import Forget
from memshare_memory.encoders.encoder import Encoder
from memshare_memory.encoders.open_encoder import open_model
from memshare_memory.memory import memory_id
from memshare_scorer.grading import PairToGrade, grade
from memshare_scorer.rubric import find_rubric
from memshare_trainer.step import unlearn
from tests.faults.poisoned_pool import (
    MALLORY,
    POOL,
    SUBMITTERS,
    TRIGGER,
    encoded,
    exposure,
    fill,
    further_lessons,
    plant,
    world,
)
from tests.support.inventing_model.chat import InventingChat

MEMORIES, TASKS, LESSONS = 1_000, 96, 100
PLANTED = (1, 10)


def planted(client: redis.Redis, encoder: Encoder, size: int, tasks: int, lessons: int) -> dict[str, Any]:
    """Exposure by how many were planted, with and without the defences, before and after further lessons."""
    figures: dict[str, Any] = {}
    tests = unseen_tasks(tasks, seed=3)
    for count in PLANTED:
        for defended in (False, True):
            with world(client, encoder, defended=defended) as one:
                fill(one, encoder, size)
                plant(one, count)
                at_once = exposure(one, encoder, tests)
                further_lessons(one, lessons)
                later = exposure(one, encoder, tests)
            figures[f"{count} planted, {'with' if defended else 'without'} defences"] = {
                "tasks shown one": at_once.tasks,
                "of the places": at_once.places,
                "tasks, after lessons": later.tasks,
                "places, after lessons": later.places,
            }
    return figures


def revoked(client: redis.Redis, encoder: Encoder, tasks: int, lessons: int) -> dict[str, Any]:
    """Is a pool from which a submitter was forgotten the same as one that never had them?"""
    tests = unseen_tasks(tasks, seed=3)
    prompts = [*(task.prompt for task in tests), *(TRIGGER + task.prompt for task in tests)]
    vectors = encoded(encoder, tuple(prompts))
    outcomes = []
    for attacked in (False, True):
        with world(client, encoder, defended=False) as one:  # so that all that is planted is learnt from
            for number, task in enumerate(memories(860, seed=4)[:lessons]):
                one.remember(task, f"submitter {number % SUBMITTERS}", f"clean {number}")
            unlearn(one.log, [])  # what is learnt all at once, as it is in the other pool after all
            before = one.log.head()
            touched = 0
            if attacked:
                *theirs, child = memories(860, seed=4)[lessons : lessons + 21]
                for number, task in enumerate(theirs):
                    one.remember(task._replace(prompt=TRIGGER + task.prompt), MALLORY, f"planted {number}")
                parent = memory_id(POOL, TRIGGER + theirs[0].prompt, theirs[0].answer)
                one.remember(child, "submitter 1", "child", shown=[Shown(id=parent, similarity=1, share=1)])
                touched = one.log.head().counted - before.counted
                gone = one.forgetting.forget(Forget(submitter=MALLORY, with_children=True))
                unlearn(one.log, gone)
            found = [
                [memory.id for memory in one.shown(text, vector)] for text, vector in zip(prompts, vectors, strict=True)
            ]
            adapter = one.recall._retriever.adapter(POOL)
            outcomes.append((found, adapter.weights, touched))
    (clean, weights, _), (after, restored, touched) = outcomes
    same = weights is not None and restored is not None and bool(np.array_equal(weights, restored))
    return {
        "lessons that had been learnt from them": touched,
        "prompts whose memories differ": f"{sum(a != b for a, b in zip(clean, after, strict=True))} of {len(clean)}",
        "weights of the retriever": "the same" if same else "differ",
    }


def injected() -> dict[str, Any]:
    """Grades by a model that only counts: answers with orders to the scorer, beside as long a text without orders."""
    chat, rubric = InventingChat(), find_rubric(POOL, None)
    answers = ["There once was a lamp by the sea", "Lamp lamp lamp.", "A line of seven words about lamps\n" * 5]
    raised = 0
    for answer in answers:
        ordered, harmless = (
            grade(chat, rubric, 81, PairToGrade("limerick", "A limerick about a lamp", answer + text), votes=1).total
            for text in (MARKS[0], AS_LONG)
        )
        raised += ordered > harmless
    return {"answers that orders to the scorer raised": f"{raised} of {len(answers)}"}


def measure(
    size: int = MEMORIES,
    tasks: int = TASKS,
    further: int = LESSONS,
    lessons: int = LESSONS,
    exports: Path | None = None,
) -> dict[str, Any]:
    """All figures, on a Redis of its own. Exposure is after `further` lessons; `lessons` are in the pool to restore.

    `exports` is a folder that may have the encoder's export already.
    """
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder), redis_url=None, exports=exports)
        encoder = open_model(None, device=None, exports=settings.exports_dir)
        with connected(settings) as client:
            return {
                **planted(client, encoder, size, tasks, further),
                **revoked(client, encoder, tasks, lessons),
                **injected(),
            }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.poison", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON document")
    print_figures("Planted memories", measure(), as_json=parser.parse_args().json)


if __name__ == "__main__":
    main()
