"""Is knowledge that was added, changed or deleted in the next prompt as it should be? `python -m benchmarks.knowledge`.

Over WebQuestions, or dated news: a statement about each question is added, changed, deleted. After each step every
question is recalled for, and the prompt built, as an agent does; the model is not asked. Shares of 1 are expected.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from benchmarks.own_pool import OwnPool, own_pool
from benchmarks.report import print_figures, progress
from memshare.evaluation.data import question_of
from memshare.files.json_lines import read_lines, read_object
from memshare_agents.answering import build_prompt
from memshare_broker.errors import BadInput
from memshare_broker.wire.messages import Turn
from memshare_memory.curate.requests import Edit, Forget, NewMemory

DATA = Path("../shared/data/webquestions.jsonl")
POOL, SHOWN = "reasoning", 3


class Question(NamedTuple):
    """A question, what was known of it first, and what is known of it since."""

    text: str
    first: str
    then: str


def main(
    data: Annotated[
        Path, typer.Option(exists=True, dir_okay=False, help="WebQuestions as they come, or dated news.")
    ] = DATA,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document in place of a table.")] = False,
) -> None:
    """Add, change and delete, and print the share of prompts that were right after each."""
    try:
        questions = read_questions(data)
    except BadInput as error:
        raise typer.BadParameter(str(error), param_hint="--data") from error
    with own_pool() as pool:
        ids = [
            pool.curate.add([NewMemory(pool=POOL, prompt=one.text, answer=one.first, kind="knowledge")])[0]
            for one in progress(questions, "Adding")
        ]
        created = share(pool, questions, lambda one, prompt: one.first in prompt)
        for memory, one in zip(ids, questions, strict=True):
            pool.curate.edit(Edit(id=memory, answer=one.then))
        updated = share(pool, questions, lambda one, prompt: one.then in prompt and one.first not in prompt)
        pool.forgetting.forget(Forget(ids=tuple(ids)))
        deleted = share(pool, questions, lambda one, prompt: one.then not in prompt and one.first not in prompt)
    figures = {"created": created, "updated": updated, "deleted": deleted, "questions": len(questions)}
    print_figures("Prompts that are right after knowledge was changed", figures, as_json=as_json)


def read_questions(file: Path) -> list[Question]:
    """The questions of a file, each once, with what was known of it first, and what is since.

    Of dated news about a question these are the earliest and the latest statement; news that nothing followed are left
    out. For a question with answers two statements are made of them. Raises `BadInput` for a line that is neither.
    """
    answers: dict[str, str] = {}
    news: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for number, text in read_lines(file):
        line = read_object(text)
        match line:
            case {"date": str(date), "prompt": str(prompt), "statement": str(statement)}:
                news[prompt].append((date, statement))
                continue
        if (asked := question_of(line)) is None:
            raise BadInput(
                f"{file}:{number}: expected a question with its answers, as in WebQuestions, or news: `date`, `prompt` "
                "and `statement`."
            )
        answers[asked[0]] = " and ".join(asked[1])
    changed = [Question(one, min(said)[1], max(said)[1]) for one, said in news.items() if len(said) > 1]
    return changed + [
        Question(text, f"As of entry {number}, it is {said}.", f"Corrected in entry {number}: it is not only {said}.")
        for number, (text, said) in enumerate(answers.items())
    ]


def share(pool: OwnPool, questions: list[Question], is_right: Callable[[Question, str], bool]) -> float:
    """The share of questions whose prompt is right."""
    right = 0
    for one in progress(questions, "Asking"):
        vector = pool.recall.embed(one.text).unpack()
        hits = pool.recall.nearest(POOL, one.text, vector, SHOWN, "hybrid").hits
        turns = build_prompt("Answer.", [hit.memory for hit in hits], (Turn(role="user", content=one.text),))
        right += is_right(one, "\n".join(turn.content for turn in turns))
    return round(right / len(questions), 4)


if __name__ == "__main__":
    typer.run(main)
