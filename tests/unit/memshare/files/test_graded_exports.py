"""Exports that other tools' own packages made (tests/data/graded): of each the same four pairs come in."""

from __future__ import annotations

from pathlib import Path

import pytest

from memshare.files.graded.choosing import NO_SCORE, SAME, TOOLS, UNDER, RunChoice, choose, read_runs
from memshare.files.graded.sources import Source

DATA = Path(__file__).parents[3] / "data" / "graded"
FOUR = {
    ("What has keys and opens no door?", "A piano."): 100,
    ("What has hands and claps for nobody?", "A clock."): 100,
    ("What has teeth and bites nobody?", "A comb."): 90,
    ("What has a neck and no head?", "A bottle."): 80,
}


@pytest.mark.parametrize(
    ("source", "files", "kind"),
    [
        ("langfuse", ["langfuse_observations.json", "langfuse_scores.jsonl"], "field:metadata.kind"),
        ("langfuse", ["langfuse_ui_traces.json"], "field:metadata.kind"),
        ("langfuse", ["langfuse_ui_traces.csv"], "field:name"),
        ("langsmith", ["langsmith_runs.jsonl"], "field:extra.metadata.kind"),
        ("langsmith", ["langsmith_runs.jsonl", "langsmith_feedback.json"], "field:name"),
        ("phoenix", ["phoenix_spans.json", "phoenix_annotations.jsonl"], "field:metadata.kind"),
        ("phoenix", ["phoenix_annotations.jsonl", "phoenix_dataframe.jsonl"], "field:metadata.kind"),
        ("otlp", ["otlp_spans.jsonl.gz", "otlp_logs.jsonl"], "riddle"),
        ("openai-evals", ["openai_evals.jsonl"], "riddle"),
    ],
    ids=str,
)
def test_the_same_four_pairs_come_in_and_it_is_said_why_the_others_do_not(
    source: Source, files: list[str], kind: str
) -> None:
    is_match = source == "openai-evals"
    runs = read_runs([DATA / name for name in files], source)
    wanted = RunChoice(
        source, "match" if is_match else "correctness", None if is_match else 0.5, kind=kind, pool="logic"
    )

    found = choose(runs, wanted, {}, "ada", 20_000)

    scores = dict.fromkeys(FOUR, 100) if is_match else FOUR
    assert {(one.prompt, one.answer): one.score for one in found.memories} == pytest.approx(scores)
    assert {one.kind for one in found.memories} == {"riddle"}
    assert {one.submitter for one in found.memories} == {"ada"}
    with_tool = {} if files[0].startswith("langfuse_ui") else {TOOLS: 1}
    left_out = {why: len(ids) for why, ids in found.left_out.items()}
    assert left_out == {UNDER: 1, NO_SCORE: 1, SAME: 1} | with_tool


def test_a_score_stands_with_its_name_and_source_beside_the_memory() -> None:
    runs = read_runs([DATA / "langfuse_ui_traces.json"], "langfuse")

    found = choose(runs, RunChoice("langfuse", "correctness", 0.85, pool="logic"), {}, "ada", 20_000)

    comb = next(one for one in found.memories if one.answer == "A comb.")
    assert comb.source == f"langfuse {2:032x}, correctness 0.9"
    assert comb.criteria["langfuse: correctness"].model_dump() == {"low": 90, "high": 90, "points": 100}
    assert comb.created == 1_795_770_120  # when it ran


def test_examples_of_a_dataset_come_in_without_a_score() -> None:
    runs = read_runs([DATA / "langsmith_dataset.jsonl"], "langsmith")

    found = choose(runs, RunChoice("langsmith", pool="logic"), {}, "ada", 20_000)

    assert {(one.prompt, one.answer): one.score for one in found.memories} == dict.fromkeys(list(FOUR)[:3])


def test_the_model_that_answered_is_told() -> None:
    runs = read_runs([DATA / "otlp_spans.jsonl.gz", DATA / "otlp_logs.jsonl"], "otlp")

    assert {one.model for one in runs} == {"gpt-5.6-luna"}
