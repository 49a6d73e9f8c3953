"""Attributes as the conventions for generative AI have them."""

import json
from typing import Any

import pytest

from memshare_broker.observe import tracing
from memshare_broker.wire.grades import CriterionScore, Score
from memshare_broker.wire.messages import AgentTask, Answer, Turn, Usage

KEY = "sk-abcdefgh12345678"
SCORE = Score(
    total=81.5,
    threshold=80,
    accepted=True,
    criteria={
        "rhyme": CriterionScore(low=30, high=40, points=40),
        "wit": CriterionScore(low=43, high=50, points=60),
    },
    rubric="poem",
    rubric_version="1f3a",
    model="openai:m",
    usage=Usage(),
)
ANSWER = Answer(
    task_id="t1",
    agent="poem",
    kind=None,
    answer=f"Blue. {KEY}",
    model="mistral:small",
    memories=(),
    retriever_version=0,
    usage=Usage(prompt_tokens=10, completion_tokens=5),
    seconds=1,
)


def in_messages(attributes: dict[str, Any], which: str) -> Any:
    return json.loads(attributes[f"gen_ai.{which}.messages"])


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("openai:qwen2.5:7b", "openai", "qwen2.5:7b"),
        ("mistral:small", "mistral_ai", "small"),
        ("all-MiniLM-L6-v2@1f3a", "memshare", "all-MiniLM-L6-v2@1f3a"),
        ("", "memshare", None),
    ],
)
def test_a_models_name_says_its_provider_by_the_conventions_word(model: str, provider: str, name: str | None) -> None:
    told = tracing.operation("chat", model)

    assert (told["gen_ai.provider.name"], told["gen_ai.request.model"]) == (provider, name)


def test_cached_and_reasoning_tokens_are_told_where_the_provider_told_of_any() -> None:
    told = tracing.tokens(Usage(prompt_tokens=10, completion_tokens=5, cached_tokens=8))

    assert told["gen_ai.usage.cache_read.input_tokens"] == 8
    assert told["gen_ai.usage.reasoning.output_tokens"] is None


@pytest.mark.parametrize(("asked_for", "taken"), [("", 0), ("no_content", 0), ("event_only", 0), ("SPAN_ONLY", 1)])
def test_texts_are_taken_only_where_they_are_asked_for_on_spans_and_are_masked(
    asked_for: str, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(tracing.CONTENT, asked_for)
    task = AgentTask(prompt=f"Write. {KEY}")

    told = tracing.invocation("poem", task, ANSWER)
    searched = tracing.retrieval("poem", 3, task.text)
    [document] = json.loads(str(tracing.retrieved([("m1", 0.8, ANSWER.answer)])["gen_ai.retrieval.documents"]))

    assert (document["id"], document["score"]) == ("m1", 0.8)
    assert KEY not in json.dumps([told, searched, document])
    texts = [name for name in told if name.endswith(".messages")]
    assert len(texts) == 2 * taken
    assert (searched["gen_ai.retrieval.query.text"], document.get("content")) == (
        ("Write. …", "Blue. …") if taken else (None, None)
    )
    if taken:
        parts = [{"type": "text", "content": "Write. …"}]
        assert in_messages(told, "input") == [{"role": "user", "parts": parts}]
        [answer] = in_messages(told, "output")
        assert (answer["role"], answer["finish_reason"]) == ("assistant", "stop")


def test_a_system_turn_is_part_of_what_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tracing.CONTENT, "true")

    told = tracing.asked([Turn(role="system", content="Be brief."), Turn(role="user", content="Why?")])

    assert [one["role"] for one in in_messages(told, "input")] == ["system", "user"]


def test_a_grade_is_an_evaluation_by_its_rubric_and_one_by_each_criterion_all_of_100() -> None:
    whole, rhyme, wit = tracing.evaluations(SCORE)

    assert whole["gen_ai.evaluation.name"] == "poem"
    assert (whole["gen_ai.evaluation.score.value"], whole["gen_ai.evaluation.score.label"]) == (81.5, "accepted")
    assert "80 is enough" in str(whole["gen_ai.evaluation.explanation"])
    assert (rhyme["gen_ai.evaluation.name"], rhyme["gen_ai.evaluation.score.value"]) == ("rhyme", 87.5)
    assert (wit["gen_ai.evaluation.name"], wit["gen_ai.evaluation.score.value"]) == ("wit", 77.5)
    assert "43 to 50 of 60 points" in str(wit["gen_ai.evaluation.explanation"])
    assert "openai:m" in str(wit["gen_ai.evaluation.explanation"])
