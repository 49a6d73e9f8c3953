"""Traces that memshare itself exports are graded runs, as those of other tools are."""

import pytest
from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

from memshare.files.graded.sources import graded_runs
from memshare_broker.observe import tracing
from memshare_broker.wire.grades import CriterionScore, Score
from memshare_broker.wire.messages import AgentTask, Answer, Usage
from tests.support.traced import traced

JOURNEY = "0af76519-16cd-43dd-8448-eb211c80319c"
TASK = AgentTask(prompt="Write about the sea.")
ANSWER = Answer(
    task_id=JOURNEY, agent="poem", kind=None, answer="Blue.", model="openai:m", memories=(), retriever_version=0,
    usage=Usage(), seconds=1,
)  # fmt: skip
SCORE = Score(
    total=90, threshold=80, accepted=True, criteria={"rhyme": CriterionScore(low=80, high=100, points=100)},
    rubric="poem", rubric_version="1f3a", model="openai:m", usage=Usage(),
)  # fmt: skip


def test_a_journey_with_its_texts_is_imported_with_its_grade(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tracing.CONTENT, "true")
    with traced(monkeypatch) as spans:
        with tracing.stage(JOURNEY, "score", {}, {}):
            with tracing.span("chat m", tracing.operation("chat", "openai:m") | tracing.asked(TASK.turns)):
                tracing.note(tracing.said("A range."))
            for one in tracing.evaluations(SCORE):
                tracing.event(JOURNEY, "gen_ai.evaluation.result", one)
        tracing.root(JOURNEY, "invoke_agent poem", lambda: None, tracing.invocation("poem", TASK, ANSWER))
        exported = MessageToDict(encode_spans(spans.get_finished_spans()))

    [run] = graded_runs([(1, exported)], "otlp")

    assert (run.prompt, run.answer) == ("Write about the sea.", "Blue.")
    assert run.scores == {"poem": [90], "rhyme": [90]}
