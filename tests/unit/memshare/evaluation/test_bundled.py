"""The experiments that bring their own questions, and documents to answer them from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from memshare.evaluation.experiment import TOWN
from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.experiments.knowledge import passages
from memshare.evaluation.papers import paper_named
from memshare.evaluation.request import ExperimentRequest, forecasts, request_of
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings


def wanted(name: str, folder: Path, *files: Path, data: Settings | None = None) -> ExperimentRequest:
    settings = data or Settings(data=folder, model="offline")
    return request_of(EXPERIMENTS[name], files, settings, 7, None, models=("offline",), out=folder)


def has(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words.casefold())}(?!\w)", text.casefold()) is not None


@pytest.mark.parametrize(
    ("name", "answers"), [("complex", 3 * 20), ("facts", 4 * 16), ("contradictions", 5 * 16 + 5 * 16)]
)
def test_all_bundled_questions_are_asked_without_data_and_without_seeds(
    name: str, answers: int, tmp_path: Path
) -> None:
    request = wanted(name, tmp_path)

    settings = Settings(data=tmp_path, model_scorer="openai:judge", model_agents="offline", tries=1)
    [found] = forecasts([request], settings)

    assert not request.split.seeds
    assert not request.split.queries
    assert found.tasks == answers
    assert found.calls["openai:judge"] >= answers


def test_every_answer_stands_in_the_documents_and_what_facts_are_changed_to_does_not(tmp_path: Path) -> None:
    texts = [file.read_text(encoding="utf-8") for file in (TOWN / "documents").iterdir()]

    for name in ("complex", "contradictions"):
        for item in wanted(name, tmp_path).split.test:
            assert any(has(text, item.answer) for text in texts), item.answer
            assert not (item.changed and any(has(text, item.changed) for text in texts)), item.changed


def test_no_document_that_has_the_answer_has_what_a_question_begins_with() -> None:
    """Else one look would do: each question names something that another document explains."""
    texts = {file.stem: file.read_text(encoding="utf-8") for file in (TOWN / "documents").iterdir()}
    lines = (TOWN / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    alone = []
    for line in map(json.loads, lines):
        names = [word for word in re.findall(r"[A-Z]\w+", line["prompt"])[1:] if word not in ("In", "On")]
        alone += [
            line["prompt"]
            for text in texts.values()
            if names and has(text, line["answer"]) and all(has(text, name) for name in names)
        ]

    assert len(alone) <= 5, alone


@pytest.mark.parametrize(("name", "lacks"), [("contradictions", "prompt or statement"), ("complex", "prompt")])
def test_a_line_without_what_an_experiment_needs_is_named(name: str, lacks: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"agent": "reasoning", "answer": "So."}))

    with pytest.raises(BadInput, match=rf"{lacks}; 'So\.'"):
        wanted(name, tmp_path, file)


def test_a_call_is_forecast_for_each_line_of_which_something_has_to_be_written(tmp_path: Path) -> None:
    file = tmp_path / "claims.jsonl"
    pairs = [{"supported": f"Each of {one} cats sleeps.", "contradicted": "No cat sleeps."} for one in range(3)]
    file.write_text("".join(json.dumps(pair | {"agent": "reasoning"}) + "\n" for pair in pairs))
    settings = Settings(data=tmp_path, model_scorer="openai:judge", model_agents="offline")

    [without] = forecasts([wanted("contradictions", tmp_path / "a", file)], settings)
    whole = [
        pair | {"agent": "reasoning", "prompt": f"Who sleeps {at}?", "answer": f"cat {at}", "statement": "So.",
                "changed": "dog", "changed_statement": "Dogs."}
        for at, pair in enumerate(pairs)
    ]  # fmt: skip
    file.write_text(
        "".join(
            json.dumps({name: text for name, text in line.items() if name not in pairs[0]}) + "\n" for line in whole
        )
    )
    [there] = forecasts([wanted("contradictions", tmp_path / "b", file)], settings)

    assert without.calls["offline"] == there.calls["offline"] + 3


def test_each_table_of_a_paper_takes_the_lines_of_ones_own_files_that_are_for_it(tmp_path: Path) -> None:
    settings, file = Settings(data=tmp_path, model="offline", documents="/my/papers"), tmp_path / "mine.jsonl"
    asked = [{"agent": "reasoning", "prompt": f"Who is {number}?", "answer": f"Ada {number}"} for number in range(9)]
    more = {"statement": "Bo is 10.", "changed": "Cy", "changed_statement": "Cy is 10."}
    lines = [*asked, {"agent": "reasoning", "prompt": "Who is 10?", "answer": "Bo", **more}]

    def answers(name: str, lines: list[dict[str, str]]) -> tuple[list[str], str | None]:
        file.write_text("\n".join(map(json.dumps, lines)))
        request = request_of(
            EXPERIMENTS[name], [file], settings, 7, None, models=("offline",), out=tmp_path, shared=True
        )
        return sorted(item.answer for item in request.split.all), request.documents

    assert paper_named("dynamind").experiments == ["knowledge", "facts", "complex", "contradictions"]
    assert answers("complex", lines) == ([f"Ada {number}" for number in range(9)], "/my/papers")
    assert answers("contradictions", lines) == (["Bo"], "/my/papers")
    assert answers("knowledge", lines)[0] == [*(f"Ada {number}" for number in range(9)), "Bo"]
    facts, documents = answers("contradictions", asked)  # none of these is for it
    assert (len(facts), documents) == (16, str(TOWN / "documents"))


def test_knowledge_is_split_as_other_data_also_where_it_brings_its_own(tmp_path: Path) -> None:
    parts = wanted("knowledge", tmp_path).split

    assert (len(parts.seeds), len(parts.queries), len(parts.test)) == (3, 7, 6)


def test_an_experiment_without_questions_of_its_own_asks_for_data(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--data"):
        wanted("memories", tmp_path)


def test_with_data_of_ones_own_the_documents_are_ones_own_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"agent": "reasoning", "prompt": "Why?", "answer": "So."}))
    settings = Settings(data=tmp_path, model="offline", documents="/my/papers")

    assert wanted("complex", tmp_path, file, data=settings).documents == "/my/papers"
    assert wanted("complex", tmp_path, data=settings).documents == str(TOWN / "documents")
    assert wanted("facts", tmp_path, data=settings).documents is None


def test_passages_are_paragraphs_with_their_title(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("# A mill\n\nIt turns.\n\nIt grinds.\n")
    (tmp_path / "two.pdf").write_bytes(b"%PDF")

    assert list(passages([tmp_path])) == ["A mill: It turns.", "A mill: It grinds."]


def test_the_lists_that_come_with_the_tree_are_items_of_its_agents(tmp_path: Path) -> None:
    files = sorted((Path(__file__).parents[4] / "benchmarks" / "lists").glob("*.jsonl"))

    request = wanted("memories", tmp_path, *files)

    assert [(one.file, one.items) for one in request.files] == [
        ("limericks.jsonl", 56),
        ("riddles.jsonl", 177),
        ("sonnets.jsonl", 77),
        ("wuyanlvshi.jsonl", 42),
    ]
