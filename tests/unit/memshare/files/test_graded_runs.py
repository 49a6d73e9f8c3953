"""Which graded runs come in, what is asked of a person where it is not clear, and files that mean harm."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from memshare.files import json_lines
from memshare.files.graded.choosing import (
    HALF,
    NO_AGENT,
    NO_SCORE,
    NO_TEXT,
    REFUSED,
    TOO_LONG,
    UNDER,
    GradedFile,
    RunChoice,
    choose,
    read_runs,
)
from memshare.files.graded.runs import _ANSWERS, _PROMPTS, StepText, records_of
from memshare.files.graded.sources import graded_runs, number_of
from memshare.files.json_lines import ANSWER, PROMPT, is_table, read_bytes, read_objects
from memshare.files.pairs import SAME
from memshare_broker.errors import BadInput, GiveUp
from memshare_broker.wire.grades import CriterionScore, Score
from memshare_broker.wire.messages import Usage


def trace(number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"t{number}", "input": f"Question {number}", "output": f"Answer {number}"} | more


def chosen(*found: dict[str, Any], **wanted: Any) -> GradedFile:
    runs = graded_runs(enumerate(found, 1), "langfuse")
    options = {name: wanted.pop(name) for name in ("grade", "masked") if name in wanted}
    return choose(runs, RunChoice("langfuse", **{"pool": "logic", **wanted}), {"ada": "verse"}, "me", 100, **options)


def test_the_only_score_need_not_be_named_and_a_verdict_needs_no_value() -> None:
    found = chosen(trace(1, correct=["yes"]), trace(2, correct=["no"]), trace(3, correct=[True]), trace(4))

    assert [one.answer for one in found.memories] == ["Answer 1", "Answer 3"]
    assert found.left_out == {UNDER: ["t2"], NO_SCORE: ["t4"]}
    assert (found.score, found.at_least) == ("correct", 1)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({}, r"which score\? .* 'good' \(2 runs\), 'tone' \(1 runs\)"),
        ({"score": "mood"}, r"its score 'mood'. There are: 'good'"),
        ({"score": "good"}, r"from 1 to 4\. Say the scale of 'good' with --scale LOW:HIGH"),
        ({"score": "good", "scale": "5"}, "'5' is no scale"),
        ({"score": "good", "scale": "5:1"}, "'5:1' is no scale"),
        ({"score": "good", "scale": "1:nan"}, "'1:nan' is no scale"),
        ({"score": "good", "scale": "1:3"}, "'good' of t2 is outside of the scale 1:3: values go from 1 to 4"),
        ({"score": "good", "scale": "1:5"}, "from which 'good' on.* from 1 to 4, half of them 2.5 or more"),
    ],
)
def test_what_is_not_clear_is_asked_of_the_person(wanted: dict[str, str], said: str) -> None:
    found = chosen(trace(1, good=[1], tone=[0.5]), trace(2, good=[4]), **wanted)

    assert any(re.search(said, fault) for fault in found.faults)


def test_a_score_is_mapped_from_its_scale_to_a_hundred() -> None:
    found = chosen(trace(1, good=[1]), trace(2, good=[4, 5]), scale="1:5", at_least=3)

    assert {one.answer: one.score for one in found.memories} == {"Answer 2": 87.5}


def test_why_a_run_is_left_out_is_told_by_its_id() -> None:
    found = chosen(
        trace(1, good=[1], output=None),
        trace(2, good=[1], output="x" * 101),
        trace(3, good=[1], output='{"answer": "\\ud83d"}'),
        trace(4, good=[float("nan")]),
        trace(5, good=[1], agent="nobody"),
        trace(6, good=[1], agent="ada"),
        pool=None,
        agent="field:agent",
    )

    assert found.left_out == {NO_TEXT: ["t1"], TOO_LONG: ["t2"], HALF: ["t3"], NO_AGENT: ["t4", "t5"]}
    assert [(one.pool, one.agent) for one in found.memories] == [("verse", "ada")]


def graded(total: float) -> Score:
    criteria = {"right": CriterionScore(low=total, high=total, points=100)}
    fields = {"rubric": "sql", "rubric_version": "1", "model": "program", "usage": Usage()}
    return Score(total=total, threshold=81, accepted=total >= 81, criteria=criteria, **fields)


def test_a_program_of_the_rubric_has_the_last_word() -> None:
    def grade(agent: str | None, kind: str | None, prompt: str, answer: str) -> Score | None:
        assert (agent, kind, prompt[:8]) == ("ada", "sql", "Question")
        if answer == "Answer 3":
            raise GiveUp("it took too long")
        return graded(100 if answer == "Answer 1" else 0)

    found = chosen(
        trace(1, good=[0.9]), trace(2, good=[1]), trace(3, good=[1]), at_least=0.8, agent="ada", kind="sql", grade=grade
    )

    [memory] = found.memories
    assert (memory.score, memory.rubric_version, set(memory.criteria)) == (100, "1", {"langfuse: good", "right"})
    assert found.left_out == {REFUSED: ["t2", "t3"]}


def test_personal_data_is_masked_before_a_memory_has_its_id() -> None:
    def masked(text: str) -> str:
        return text.replace("Ada", "<PERSON>")

    one, other = (chosen(trace(1, good=[1], output=f"{name} did."), masked=masked) for name in ("Ada", "<PERSON>"))

    assert one.pairs.ids == other.pairs.ids
    assert one.memories[0].answer == "<PERSON> did."


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("A question", "A question"),
        ({"question": "A question", "user": "ada"}, "A question"),
        ({"topic": "A question"}, "A question"),
        ('[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "A question"}]', "A question"),
        ([{"role": "user", "content": [{"type": "text", "text": "A question"}]}], "A question"),
        ({"args": ["A question"], "kwargs": {}}, "A question"),
        ({"messages": [[{"lc": 1, "kwargs": {"content": "A question", "type": "human"}}]]}, "A question"),
        (
            [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}],
            "User: a\nAssistant: b\nUser: c",
        ),
        ({"city": "Oslo", "days": 3}, '{"city": "Oslo", "days": 3}'),
        ("[1, 2", "[1, 2"),
        ("", None),
        (None, None),
        ({}, None),
        ([], None),
    ],
)  # fmt: skip
def test_a_prompt_is_found_in_what_went_in(value: object, text: str | None) -> None:
    assert StepText(value, _PROMPTS).prompt == text


@pytest.mark.parametrize(
    "value",
    [
        "An answer",
        {"role": "assistant", "content": "An answer"},
        {"choices": [{"message": {"role": "assistant", "content": "An answer"}}]},
        {"generations": [[{"text": "x", "message": {"kwargs": {"content": "An answer", "type": "ai"}}}]]},
        {"messages": [{"type": "human", "content": "Hello"}, {"type": "ai", "content": "An answer"}]},
        {"output": {"text": "An answer"}},
    ],
)
def test_an_answer_is_found_in_what_came_out(value: object) -> None:
    assert StepText(value, _ANSWERS).answer == "An answer"


@pytest.mark.parametrize(
    "turn",
    [
        {"role": "assistant", "content": "x", "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": "12:00"},
        {"role": "assistant", "parts": [{"type": "tool_call", "name": "clock"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "name": "clock"}]},
        {"type": "ai", "content": "x", "additional_kwargs": {"tool_calls": [{"id": "1"}]}},
    ],
)
def test_a_call_of_a_tool_is_seen(turn: dict[str, Any]) -> None:
    assert StepText([turn], _ANSWERS).calls


def test_the_topmost_step_with_both_texts_is_the_run_though_ancestors_go_in_a_circle() -> None:
    steps = [
        trace(1, traceId="t", parentObservationId="t2", output=None),
        trace(2, traceId="t", parentObservationId="t1", input=None),
        trace(3, traceId="t", parentObservationId="t1"),
        trace(4, traceId="t", parentObservationId="t3", output="Inner"),
    ]
    score = {"dataType": "NUMERIC", "traceId": "t", "name": "good", "value": 1}

    [run] = graded_runs(enumerate([*steps, score], 1), "langfuse")

    assert (run.id, run.prompt, run.answer, run.scores) == ("t", "Question 3", "Answer 3", {"good": [1]})


def test_a_table_may_have_semicolons_and_other_names_of_columns() -> None:
    rows = records_of(
        '\ufeffQuestion;Answer;rating;id\n"Two\nlines; one";A\u2028clock.;4,5;7\n;;;\nWhat runs?;A dog.;1;8\n',
        "a.csv",
        "table",
    )

    found = choose(graded_runs(rows, "table"), RunChoice("table", "rating", 3, "0:5", pool="logic"), {}, "me", 100)

    assert [(one.prompt, one.answer, one.score) for one in found.memories] == [("Two\nlines; one", "A\u2028clock.", 90)]
    assert found.left_out == {UNDER: ["line 5"]}


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ('\n\nprompt,answer\n"What\nruns?",A dog.\nWhat?,\n', {NO_TEXT: ["line 6"]}),
        ("sep=;\nprompt;answer\nWhat runs?;A dog.\n;A cat.\n", {NO_TEXT: ["line 4"]}),
        ("prompt,answer\rWhat runs?,A dog.\rWhat?,\r", {NO_TEXT: ["line 3"]}),
        ("\tPrompt\tANSWER\n0\tWhat runs?\tA dog.\n", {}),
        ("prompt,answer\nWhat runs?,A dog.,,\nWhat runs?,A dog.\n", {SAME: ["line 3"]}),
        ("prompt,answer,,\nWhat runs?,A dog.,,\n", {}),
        ('"a;b;c",prompt,answer\n1,What runs?,A dog.\n', {}),
    ],
)
def test_tables_as_spreadsheets_write_them_are_read_and_rows_named_by_the_line_where_they_begin(
    text: str, left_out: dict[str, list[str]]
) -> None:
    runs = graded_runs(records_of(text, "the file", "table"), "table")

    found = choose(runs, RunChoice("table", pool="logic"), {}, "me", 100)

    assert [(one.prompt or "").split() for one in found.memories] == [["What", "runs?"]]
    assert found.left_out == left_out


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("A.CSV", "", True),
        ("a.csv.gz", "", True),
        ("a.txt", 'id;"Question";Output\r\n', True),
        ("a.txt", "An answer, and a prompt, in a sentence.", False),
        ("a.jsonl", '{"prompt": "a", "answer": "b"}', False),
        ("a", "prompt\nWhat runs?", False),
    ],
)
def test_a_table_is_known_by_its_name_or_its_header(name: str, text: str, expected: bool) -> None:
    assert is_table(name, text) == expected


def test_a_table_without_scores_is_taken_as_it_is() -> None:
    runs = graded_runs(records_of("prompt,answer,pages\nWhat runs?,A dog.,3\n", "a.csv", "table"), "table")

    assert [one.score for one in choose(runs, RunChoice("table", pool="logic"), {}, "me", 100).memories] == [None]


def test_a_row_of_a_table_that_ends_early_is_left_out_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "short.csv"
    file.write_text("prompt,answer\nWhat is E?,E\nWhat is D?\nWhat is F?\n", "utf-8")

    chosen = choose(read_runs([file], "table"), RunChoice("table", pool="logic"), {}, "me", 100)

    assert [one.answer for one in chosen.memories] == ["E"]
    assert chosen.left_out == {NO_TEXT: ["line 3", "line 4"]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "neither JSON nor a table|No run of langfuse|json is empty"),
        (b"a\nb\n", "neither JSON nor a table"),
        (b"a,a\nb,c\n", ":1: the header has two columns 'a'"),
        (b"prompt,Prompt\nb,c\n", ":1: the header has two columns 'prompt'"),
        (b"a,b\n1,2,3\n", r":2: more cells than the header has columns \(2\)"),
        (b'a,b\n1,2\n1,"2\n3,4\n', ":3: no row of a table: .* a quote in it is written twice"),
        (b'{"id": "1", "input": NaN}', ":1: NaN is no JSON"),
        (b'{"id": 1}\n{"id": 1, "id": 2}\n[]\n', ":2: the key 'id' stands twice(.|\n)*:3: expected a JSON object"),
        (b"[" * 100_000, "no JSON"),
        (b'{"id": "1", "input": ' + b'{"a":' * 5_000 + b"1" + b"}" * 5_000 + b"}", "too deep"),
        (b'{"hello": "world"}', "No run of langfuse stands in .*. Each record is expected to be: a trace"),
        ("ä".encode("latin-1"), "not UTF-8"),
        ("{}".encode("utf-16"), "UTF-16"),
        (gzip.compress(b'{"id": "1"}', mtime=0)[:-9], "no whole gzip file"),
        (b"PK\x03\x04 a workbook", 'Save a workbook as "CSV'),
        (b"\xd0\xcf\x11\xe0\xa1\xb1 an older one", 'Save a workbook as "CSV'),
        (b"PAR1 columns", "save it as CSV"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_refused_with_what_was_expected(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "export.json"
    file.write_bytes(content)

    with pytest.raises(BadInput, match=said):
        read_runs([file], "langfuse")


def test_what_unpacks_to_more_than_is_taken_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "MOST_BYTES", 1_000)
    file = tmp_path / "bomb.json.gz"
    file.write_bytes(gzip.compress(b" " * 10_000_000))

    with pytest.raises(BadInput, match=r"more than 1,000 bytes, unpacked"):
        read_bytes(file)


@pytest.mark.parametrize(
    "said", [f'"{"9" * 5_000}"', "1e999", '{"intValue": "' + "9" * 5_000 + '"}', "[[[[]]]]", "null"]
)
def test_values_that_are_none_harm_nothing(said: str) -> None:
    value = json.loads(said)
    span = {
        "spanId": "1",
        "traceId": value,
        "startTimeUnixNano": value,
        "attributes": [{"key": "a", "value": value}, 1, value],
    }
    event = {"name": value, "attributes": [{"key": "gen_ai.evaluation.name", "value": value}]}
    line = {"resourceSpans": [{"scopeSpans": [{"spans": [span | {"events": [event]}, value]}, value]}, value]}

    [run] = graded_runs([(1, line)], "otlp")

    assert run.prompt is None
    assert number_of(value) is None


def test_an_object_over_several_lines_and_a_page_of_an_api_are_taken_apart() -> None:
    page = json.dumps({"data": [{"id": "1"}, {"id": "2"}], "meta": {}}, indent=1)

    assert records_of(page, "x", "langfuse") == [(1, {"id": "1"}), (1, {"id": "2"})]


def test_a_table_without_the_columns_is_told_its_own_and_those_expected() -> None:
    with pytest.raises(
        BadInput, match=r"a\.csv has the columns 'frage', 'antwort'\. Expected is a row with"
    ) as refused:
        graded_runs(records_of("frage,antwort\nWas?,Das.\n", "a.csv", "table"), "table", "a.csv")

    assert [name for name in (*PROMPT, *ANSWER) if repr(name) not in str(refused.value)] == []


WRONG = """prompt,answer,stars,pool
What runs?,A river.,4,logic
What sits?,A stone.,2,
What flies?,A bird, or a bee.,5,logic
What swims?,A fish.,3,
What falls?,Rain.,5,logic,,again
What stands?,A tree.,1,logic
What lies?,A "dog".,,
What barks?,A dog, or a tree.,5,logic
What burns?,A fire, or a lamp.,5,logic
"""


def test_all_kinds_of_faults_of_a_table_are_told_at_once_with_their_first_lines_and_how_many() -> None:
    runs = graded_runs(records_of(WRONG, "a.csv", "table"), "table")

    found = choose(runs, RunChoice("table", "stars"), {"logic": "logic"}, "me", 100)

    scale, least, pool, cells = found.faults
    assert "from 1 to 4. Say the scale of 'stars'" in scale
    assert "from which 'stars' on?" in least
    assert cells.startswith("line 4, line 6, line 9 and 1 more: more cells than the header has columns (4).")
    assert pool.startswith("line 3, line 5, line 8: no pool: ")
    assert "there are logic" in pool


def test_a_header_without_the_columns_is_told_with_the_rows_that_are_wrong() -> None:
    with pytest.raises(BadInput, match=r"has the columns 'a', 'b'\..*\n.*a\.csv:3: more cells"):
        graded_runs(records_of("a,b\n1,2\n1,2,3\n", "a.csv", "table"), "table", "a.csv")


def test_each_wrong_row_of_tasks_in_a_table_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tasks.csv"
    file.write_text("agent,prompt\nlogic,a,b\nlogic,What runs?\nlogic,c,d\n", "utf-8")

    found, faults = read_objects(file, "the line", dict)

    assert found == [(3, {"agent": "logic", "prompt": "What runs?"})]
    assert [fault.split(":")[1] for fault in faults] == ["2", "4"]
