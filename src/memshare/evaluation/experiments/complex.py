"""Do steps help with questions that one look does not answer?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from memshare.evaluation.data import DataItem
from memshare.evaluation.experiment import Bundled, Experiment, Times
from memshare.evaluation.experiments.knowledge import says
from memshare.evaluation.lab import PEOPLE, Lab
from memshare.evaluation.queues import AnsweredItem
from memshare.evaluation.variants import Label

ENGINE = Label("engine", lambda pool, number: f"{pool}-engine-{number}")
ONE_CALL = Label("one-call", lambda pool, number: f"{pool}-one-call-{number}", one_call=True)
PLAIN = "one call"
PASSAGES = 5  # shown to the one call
TEXTS = ("*.md", "*.txt")


def run(lab: Lab) -> None:
    """Have each question answered by one call, by one call with the passages that fit best, and by the engine."""
    marks = says(says_the_answer=lambda item: item.answer)
    found = list(passages(lab.documents))
    for model in lab.models:
        engine, plain = lab.setup(ENGINE, model), lab.setup(ONE_CALL, model)
        lab.measure(PLAIN, plain, k=0, marks=marks)
        if found:
            agents = dict.fromkeys(item.agent for item in lab.split.test)
            shown = [AnsweredItem(_statement(agent, text), text, None, PEOPLE) for agent in agents for text in found]
            lab.bring_in(f"passages {model}", plain, shown)
            lab.measure("one call with passages", plain, k=PASSAGES, marks=marks)
        lab.measure("engine", engine, marks=marks)


def passages(documents: Sequence[Path]) -> Iterator[str]:
    """The paragraphs of the texts among the documents, each with its title; other files are for the engine alone."""
    files = [file for place in documents for file in ([place] if place.is_file() else _texts_in(place))]
    for file in files:
        first, *others = file.read_text(encoding="utf-8").split("\n\n")
        title = first.removeprefix("#").strip()
        for paragraph in filter(None, (one.strip() for one in others)):
            yield f"{title}: {paragraph}"


def _texts_in(folder: Path) -> list[Path]:
    return sorted({file for form in TEXTS for file in folder.rglob(form)})


def _statement(agent: str, text: str) -> DataItem:
    return DataItem(id=text, agent=agent, kind=None, prompt=None, answer=text)


COMPLEX = Experiment(
    "complex",
    "Questions in several steps",
    "Does the engine answer questions that take several steps better than one call of its model?",
    "Each question takes two or three documents to answer. It is answered by one call of the model, by one call that "
    "is shown the five passages of the documents that are nearest to it, and by the engine, which searches and reads. "
    "Counted is whether an answer has the standard answer as whole words.",
    lambda _: [ENGINE, ONE_CALL],
    run,
    baseline=PLAIN,
    asked=Times(test=3),
    bundled=Bundled("questions.jsonl", documents=True),
)
