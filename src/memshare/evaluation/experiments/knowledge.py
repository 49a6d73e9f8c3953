"""Facts of a town: does knowledge help, do steps, and does what is false sink?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from uuid import UUID

from memshare.client.client import Client
from memshare.evaluation.data import DataItem, Split, stands_in
from memshare.evaluation.experiment import NO_MEMORIES, OWN, Bundled, Experiment, Times
from memshare.evaluation.experiments.growth import spoiled
from memshare.evaluation.lab import PEOPLE, Lab, Marks, share_of
from memshare.evaluation.queues import AnsweredItem, Change
from memshare.evaluation.variants import NOTHING_PASSES, Label
from memshare_memory.curate.requests import Forget
from memshare_memory.memory import folded

NEEDED = ("statement", "changed", "changed_statement")


def right(items: Sequence[DataItem]) -> list[AnsweredItem]:
    """The facts of the items, as statements without a prompt."""
    return [_stated(item, item.statement or "") for item in items]


def wrong(items: Sequence[DataItem]) -> list[AnsweredItem]:
    """The facts of the items once they are changed."""
    return [_stated(item, item.changed_statement or "") for item in items]


def run_facts(lab: Lab) -> None:
    """Tell the agents what is so, ask in other words; tell them that it is otherwise, ask; delete it, ask."""
    items = lab.split.test
    marks = says(says_the_first=lambda item: item.answer, says_the_second=lambda item: item.changed or "")
    for model in lab.models:
        own = lab.setup(OWN, model)
        first = right(items)
        memories = [pair.id(lab.pool_of(own, pair.item)) for pair in first]
        lab.measure(NO_MEMORIES, own, k=0, marks=marks)
        lab.bring_in(f"tell {model}", own, first)
        lab.measure("created", own, marks=marks)
        changed = {memory: pair.answer for memory, pair in zip(memories, wrong(items), strict=True)}
        lab.rewrite(f"change {model}", changed)
        lab.measure("updated", own, marks=marks)
        lab.change(f"delete {model}", delete(memories))
        lab.measure("deleted", own, marks=marks)


def _stated(item: DataItem, text: str) -> AnsweredItem:
    return AnsweredItem(item.model_copy(update={"prompt": None, "kind": None}), text, None, PEOPLE)


FACTS = Experiment(
    "facts",
    "Facts, asked for in other words",
    "Does the reasoning agent follow what it is told, when it is asked in other words than it was told in?",
    "Statements are told, then changed to say something else, then deleted. Each time a question in other words is "
    "answered by the agent, with its engine where it has one. Counted is whether an answer has the first text, and the "
    "second, as whole words.",
    run_facts,
    asked=Times(test=4),
    bundled=Bundled("facts.jsonl", needs=NEEDED),
)


SHORT = 12  # words; who asks for a sonnet does not expect to be told one

Says = Callable[[DataItem], str]


def says(**wanted: Says) -> Marks:
    """Marks for whether an answer has each text, as whole words, whatever its case and white space."""

    def marks(item: DataItem, answer: str, _shown: Sequence[UUID]) -> dict[str, float]:
        return {name.replace("_", " "): float(stands_in(says(item), answer)) for name, says in wanted.items()}

    return marks


def run_knowledge(lab: Lab) -> None:
    """Tell the agents the answer of each short test question, ask; change it to another, ask; delete it, ask."""
    items, other = short_questions(lab.split)
    marks = says(says_the_first=lambda item: item.answer, says_the_second=lambda item: other[item.id])
    for model in lab.models:
        own = lab.setup(OWN, model)
        pairs = [AnsweredItem(item, item.answer, None, PEOPLE) for item in items]
        memories = [pair.id(lab.pool_of(own, pair.item)) for pair in pairs]
        lab.measure(NO_MEMORIES, own, k=0, items=items, marks=marks)
        lab.bring_in(f"add {model}", own, pairs)
        lab.measure("added", own, items=items, marks=marks)
        changed = {memory: other[item.id] for memory, item in zip(memories, items, strict=True)}
        lab.rewrite(f"change {model}", changed)
        lab.measure("changed", own, items=items, marks=marks)
        lab.change(f"delete {model}", delete(memories))
        lab.measure("deleted", own, items=items, marks=marks)


def short_questions(split: Split) -> tuple[list[DataItem], dict[str, str]]:
    """The test questions with short answers, and for each another answer: a query's of its kind, and nobody's here.

    All test questions where none has a short answer.
    """
    short = [item for item in split.test if item.answer.isascii() and len(item.answer.split()) <= SHORT]
    items = short or list(split.test)
    own = {folded(item.answer) for item in items}
    spare: dict[str, list[str]] = {}
    for item in split.queries:
        if folded(item.answer) not in own:
            spare.setdefault(item.label, []).append(item.answer)
    usable = [item for item in items if item.label in spare]
    return usable, {item.id: spare[item.label][place % len(spare[item.label])] for place, item in enumerate(usable)}


def delete(memories: Sequence[UUID]) -> Change:
    def change(client: Client) -> None:
        client.memories.forget(Forget(ids=tuple(memories)))

    return change


KNOWLEDGE = Experiment(
    "knowledge",
    "What is known, changed and forgotten",
    "Does an answer say what was added, follow when it is changed, and stop when it is deleted?",
    "Of the test questions with short answers (12 words of English at most), each answer is added as a memory, then "
    "changed to a query's answer, then deleted; they are answered each time with three memories. Counted is whether an "
    "answer has the first text, and the second, as whole words.",
    run_knowledge,
    asked=Times(test=4),
    bundled=Bundled("facts.jsonl", split=True),
)


ENGINE = Label("engine", lambda pool, number: f"{pool}-engine-{number}")
ONE_CALL = Label("one-call", lambda pool, number: f"{pool}-one-call-{number}", one_call=True)
PLAIN = "one call"
PASSAGES = 5  # shown to the one call
TEXTS = ("*.md", "*.txt")


def run_complex(lab: Lab) -> None:
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
    run_complex,
    labels=lambda _: [ENGINE, ONE_CALL],
    baseline=PLAIN,
    asked=Times(test=3),
    bundled=Bundled("questions.jsonl", documents=True),
)


STRICT = Label("strict", lambda pool, number: f"{pool}-{number}", NOTHING_PASSES)
ROUNDS = 5
ASKED_AFTER = (1, 3, 5)  # rounds; the paper has 3 and 5


def run_credibility(lab: Lab) -> None:
    """Put each seed into the pool twice, right and spoiled, and let graded answers to the queries tell them apart.

    No answer below full marks is remembered (the threshold is 100): what changes what is shown is credit. The queries
    are answered one after the other: each one's credit counts for the next.
    """
    good = [pair._replace(score=None) for pair in lab.seeds]
    bad = spoiled([pair.item for pair in good])
    for model in lab.models:
        strict = lab.setup(STRICT, model)
        marks = share_of(lab.ids(strict, bad), "bad memories shown")
        lab.measure(NO_MEMORIES, strict, k=0)
        lab.bring_in(f"begin {model}", strict, [*bad, *good])
        lab.measure("3 memories", strict, phase="before", marks=marks)
        for number in range(1, ROUNDS + 1):
            phase = f"round {number}"
            full = lab.write(phase, strict, lab.split.queries, remember=True, in_order=True)
            if full:
                lab.notes.append(f"{phase}: {len(full)} answers got full marks and were remembered.")
            if number in ASKED_AFTER:
                lab.measure("3 memories", strict, phase=phase, marks=marks)


CREDIBILITY = Experiment(
    "credibility",
    "Credit for what helped",
    "Do memories that mislead sink as the answers they were shown for are graded?",
    "Every seed is in the pool twice: as it is, and spoiled. In each round all queries are answered and graded, which "
    "credits the memories shown; no answer below full marks is remembered. After the first, third and fifth "
    "round the test set is answered.",
    run_credibility,
    labels=lambda _: [STRICT],
    asked=Times(test=5, queries=5),
    remembered=Times(queries=5),
    by_phase=True,
)


def run_contradictions(lab: Lab) -> None:
    """Tell of each thing what is so and what is not, and let the answers that the agent verifies tell them apart.

    The system finds by itself that they contradict each other. What is true stands in the documents, too, which the
    agent may read; the answers of a round are given one after the other, so that each one's credit counts for the next.
    """
    items = lab.split.test
    told = says(says_what_is_so=lambda item: item.answer, says_what_is_not=lambda item: item.changed or "")
    for model in lab.models:
        strict = lab.setup(STRICT, model)
        true, false = right(items), wrong(items)
        shown = share_of(lab.ids(strict, false), "false memories shown")

        def marks(item: DataItem, answer: str, memories: Sequence[UUID], shown: Marks = shown) -> dict[str, float]:
            return told(item, answer, memories) | shown(item, answer, memories)

        lab.measure(NO_MEMORIES, strict, k=0, marks=told)
        lab.bring_in(f"begin {model}", strict, [*false, *true])
        pools = dict.fromkeys(lab.pool_of(strict, pair.item) for pair in true)
        ids = [
            (one.id(lab.pool_of(strict, one.item)), other.id(lab.pool_of(strict, other.item)))
            for one, other in zip(true, false, strict=True)
        ]
        lab.change(f"conflicts {model}", _found(model, list(pools), list(map(frozenset, ids))))
        lab.measure("3 memories", strict, phase="before", marks=marks)
        for number in range(1, ROUNDS + 1):
            lab.write(f"round {number} {model}", strict, items, remember=True, in_order=True)
            if number in ASKED_AFTER:
                lab.change(f"credibility {number} {model}", _told_apart(model, number, ids))
                lab.measure("3 memories", strict, phase=f"round {number}", marks=marks)


def _found(model: str, pools: Sequence[str], pairs: Sequence[frozenset[UUID]]) -> Change:
    def count(client: Client) -> str:
        linked = {frozenset(one.memories) for pool in pools for one in client.memories.conflicts(pool)}
        found = sum(pair in linked for pair in pairs)
        others = len(linked) - found
        return (
            f"{model}: the system found {found} of the {len(pairs)} contradictions, and {others} between other "
            "statements; nobody linked them."
        )

    return count


def _told_apart(model: str, number: int, pairs: Sequence[tuple[UUID, UUID]]) -> Change:
    """Count the pairs whose first statement is by now the more credible one: the figure of DynaMind's table 3."""

    def count(client: Client) -> str:
        judged = client.memories.judge([memory for pair in pairs for memory in pair])
        found = {one.memory.id: one.credibility.p for one in judged}
        right = sum(found[true] > found[false] for true, false in pairs)
        alike = sum(found[true] == found[false] for true, false in pairs)
        return (
            f"{model}: after round {number} the true statement was the more credible one of {right} of {len(pairs)} "
            f"pairs ({right / len(pairs):.2f}), and both were alike of {alike}."
        )

    return count


CONTRADICTIONS = Experiment(
    "contradictions",
    "True and false, side by side",
    "Does what is false sink, when an agent checks its answers and nobody says which statement is wrong?",
    "Of each thing two statements are told, one true and one false. In each round every question is answered by the "
    "agent, which checks its answer, and its verdict credits the memories that the answer rests on. What is true "
    "stands in documents that it may read. No answer below full marks is remembered. After the first, third "
    "and fifth round all are asked. Counted are the answers that "
    "say what is so, those that say what is not, and the share of false memories among those that an answer rests on.",
    run_contradictions,
    labels=lambda _: [STRICT],
    asked=Times(test=10),
    remembered=Times(test=5),
    by_phase=True,
    bundled=Bundled("facts.jsonl", documents=True, needs=NEEDED),
)
