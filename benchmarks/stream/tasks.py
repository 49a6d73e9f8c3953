"""Tasks whose answers a program checks: questions to a database, and families of reasoning-gym.

A set is an agent's files, which a deployment and a bare model are told alike, and tasks in their order: a stream, what
is unseen, and some with the right answers of people, as examples.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from benchmarks.stream.gym_check import fully_right
from memshare.cli.begin.demo_gain import write_agent
from memshare.demo.text_to_sql import Questions, read_questions
from memshare_scorer.checks.sql import Tables, same_rows

Phase = Literal["stream", "unseen"]

HERE = Path(__file__).parent
FAMILIES = (
    *("number_format", "time_intervals"),  # formats to copy
    *("base_conversion", "spell_backward"),  # algorithms
    *("syllogism", "family_relationships"),  # logic
    *("chain_sum", "leg_counting"),  # arithmetic
    *("word_sorting", "letter_counting"),  # words
    *("shortest_path", "course_schedule"),  # planning
)
PHASES: tuple[Phase, ...] = ("stream", "unseen")
PEOPLE = ("ann", "ben", "cem", "dee")  # who bring examples in, in turn; the last one's answers are wrong
LOOKED_AT = {1: 300, 2: 240, 3: 240}
"""Orders of the library, and how many tasks of each had been answered when the defaults were settled."""
UNSEEN_LOOKED_AT = 60
EXAMPLES = 6  # tasks of each kind that come with the right answer of a person


class Task(NamedTuple):
    """A task, its kind, an answer that is right, and a name of the answers that are made like it."""

    prompt: str
    kind: str | None
    answer: str
    form: str | None = None


class TaskSet(NamedTuple):
    """An agent, its tasks, and whether an answer to one is right, by the check of its rubric."""

    agent: str
    stream: Sequence[Task]
    unseen: Sequence[Task]
    examples: Sequence[Task]
    check: Callable[[str, str], bool]
    brought: bool = False
    """Whether pools begin with the examples."""

    def of(self, phase: Phase) -> Sequence[Task]:
        return self.stream if phase == "stream" else self.unseen


def questions_of(data: Path, database: Path) -> tuple[Questions, int]:
    """The questions of files that a program can check, where the right query gives rows; and how many it cannot.

    One that SQLite does not take could not be compared, and any query without rows would do for one that gives none.
    """
    script, every = database.read_text("utf-8"), read_questions(data).every
    tables = Tables(script)
    left = tuple(one for one in every if tables.rows(one.sql))
    return Questions(data.stem, left, script), len(every) - len(left)


def database_agent(questions: Questions, folder: Path) -> Callable[[str, str], bool]:
    """Write the agent of a database, as the demo has it for a model, unless it is there; the check of its rubric."""
    if not folder.exists():
        write_agent(questions, folder, schema=True)
        if questions.name != "library":
            file = folder / "sql.toml"
            file.write_text(file.read_text("utf-8").replace("the database of a public library", "a database"), "utf-8")
    check = partial(same_rows, database=str(folder / "library.sql"), answers=str(folder / "answers.jsonl"))
    return lambda prompt, answer: bool(check(prompt, answer))


def database_tasks(
    folder: Path,
    number: int,
    unseen: int,
    order: int,
    questions: Questions | None = None,
    *,
    fresh: bool = False,
    brought: int = 0,
) -> TaskSet:
    """Questions of `train` in an order of their own, and of `test`; those of `dev` come with their answers.

    `fresh` leaves out the questions that somebody had looked at when the defaults were settled. `brought` others of
    `train` come with their answers in place of those of `dev`; with `fresh`, of those that are left out.
    """
    questions = questions or read_questions()
    check = database_agent(questions, folder)

    def tasks(split: str, seed: int) -> list[Task]:
        found = [Task(one.text, None, one.sql, str(one.query.number)) for one in questions.of(split)]
        random.Random(seed).shuffle(found)
        return found

    every, last = tasks("train", order), tasks("test", 0)
    known: set[Task] = set()
    if fresh:
        known = {task for seed, count in LOOKED_AT.items() for task in tasks("train", seed)[:count]}
        last = last[UNSEEN_LOOKED_AT:]
    stream = [task for task in every if task not in known][:number]
    others = [task for task in every if task in known] if fresh else every[number:]
    examples = others[:brought] if brought else tasks("dev", 0)[:60]
    return TaskSet("sql", stream, last[:unseen], examples, check, bool(brought))


def spoiled(examples: Sequence[Task]) -> list[str]:
    """The answers to examples, each fourth of which is that to another one of another form."""
    turned = [*examples[1:], *examples[:1]]
    return [
        one.answer
        if (at + 1) % len(PEOPLE)
        else next(other.answer for other in turned[at:] + turned[:at] if other.form != one.form)
        for at, one in enumerate(examples)
    ]


def gym_tasks(folder: Path, number: int, unseen: int, order: int, families: Sequence[str] = FAMILIES) -> TaskSet:
    """Tasks of families of reasoning-gym in turn, each family a kind of one agent; right is what its verifier says."""
    from reasoning_gym import create_dataset

    folder.mkdir(parents=True, exist_ok=True)
    made: dict[str, list[Task]] = {}
    entries: list[str] = []
    each = EXAMPLES + -(-unseen // len(families)) + -(-number // len(families))
    for family in families:
        dataset = create_dataset(family, size=2 * each, seed=1)
        some = {entry["question"]: entry for entry in dataset}  # small families repeat themselves
        made[family] = [Task(prompt, family, str(entry["answer"]), family) for prompt, entry in some.items()]
        entries += [json.dumps({"family": family, "entry": entry}, default=str) for entry in some.values()]
    (folder / "gym.toml").write_text((HERE / "gym.toml").read_text("utf-8") + _kinds(families), "utf-8")
    for name in ("gym.rubric.toml", "gym_check.py"):
        (folder / name).write_text((HERE / name).read_text("utf-8"), "utf-8")
    (folder / "entries.jsonl").write_text("".join(f"{line}\n" for line in entries), "utf-8")
    check = partial(fully_right, entries=str(folder / "entries.jsonl"))

    examples = [one for tasks in made.values() for one in tasks[:EXAMPLES]]
    later = {family: tasks[EXAMPLES:] for family, tasks in made.items()}
    last = [one for tasks in later.values() for one in tasks[: -(-unseen // len(families))]][:unseen]
    stream = [one for tasks in later.values() for one in tasks if one not in last]
    random.Random(order).shuffle(stream)
    return TaskSet("gym", stream[:number], last, examples, check)


def _kinds(families: Sequence[str]) -> str:
    return "".join(f'\n[kinds.{one}]\ninstructions = "The task: {one.replace("_", " ")}."\n' for one in families)
