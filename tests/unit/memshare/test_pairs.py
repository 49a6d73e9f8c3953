from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memshare.files.json_lines import SHOWN_FAULTS
from memshare.files.pairs import HEADING, SAME, is_document, pairs_of, read_pairs, read_statements, text_of
from memshare_broker.errors import BadInput
from tests.support.memories import remembered

POOLS = {"poem": "verse", "plan": "plan"}


def write(tmp_path: Path, *lines: object) -> Path:
    """A file of these lines; what is no text is written as JSON."""
    file = tmp_path / "pairs.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    file.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return file


def pair(**more: object) -> dict[str, Any]:
    return {"prompt": "A lamp", "answer": "There was"} | more


def test_exported_memories_and_new_pairs_are_told_apart(tmp_path: Path) -> None:
    exported = remembered("red lamp", score=90, task_id="t1")[0]

    found = read_pairs(write(tmp_path, exported.model_dump(mode="json"), pair(pool="poem", score=80)), None, POOLS)

    assert found.whole == [exported]
    assert [(one.pool, one.prompt, one.answer, one.score) for one in found.pairs] == [
        ("poem", "A lamp", "There was", 80)
    ]


@pytest.mark.parametrize(
    ("line", "pool"),
    [
        (pair(pool="mine", agent="poem"), "mine"),
        (pair(agent="poem"), "verse"),
        (pair(agent="poem", pool=None), "verse"),
        (pair(agent="stranger"), "asked"),
        (pair(agent=None), "asked"),
        (pair(pool=None), "asked"),
        (pair(), "asked"),
    ],
)
def test_the_pool_is_the_lines_own_else_its_agents_else_the_one_asked_for(
    tmp_path: Path, line: dict[str, Any], pool: str
) -> None:
    pairs = read_pairs(write(tmp_path, line), "asked", POOLS).pairs

    assert [one.pool for one in pairs] == [pool]


def test_every_wrong_line_is_named_and_nothing_is_imported(tmp_path: Path) -> None:
    lines = [pair(pool="poem"), "", "{", "[1]", pair(), pair(pool="poem", answer=""), {"id": "no", "pool": "poem"}]
    file = write(tmp_path, *lines)

    with pytest.raises(BadInput) as caught:
        read_pairs(file, None, POOLS)

    first, *rest = str(caught.value).splitlines()
    assert first == "Nothing was imported."
    assert [line.split(": ")[0] for line in rest] == [f"{file}:{number}" for number in (3, 4, 5, 6, 7)]
    assert "no JSON: " in rest[0]
    assert "expected a JSON object, found list" in rest[1]
    assert "no pool: give one in the line, an agent that has one, or one for all lines (--pool)" in rest[2]
    assert "the memory: answer: it is empty" in rest[3]
    assert "the memory: id: Input should be a valid UUID" in rest[4]


@pytest.mark.parametrize("agent", [["poem"], {"name": "poem"}, 7])
def test_an_agent_that_is_no_name_is_a_wrong_line(tmp_path: Path, agent: object) -> None:
    with pytest.raises(BadInput, match=r"pairs\.jsonl:1: the memory: agent: Input should be a valid string"):
        read_pairs(write(tmp_path, pair(agent=agent)), "poem", POOLS)


def test_of_many_wrong_lines_the_first_are_shown_and_the_others_counted(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read_pairs(write(tmp_path, *["{"] * (SHOWN_FAULTS + 3)), None, POOLS)

    lines = str(caught.value).splitlines()
    assert len(lines) == 1 + SHOWN_FAULTS + 1
    assert lines[-1] == "… and 3 more lines"
    with pytest.raises(BadInput, match=r"… and 1 more line$"):
        read_pairs(write(tmp_path, *["{"] * (SHOWN_FAULTS + 1)), None, POOLS)


def test_a_line_ends_where_the_file_says_so_and_not_inside_a_text(tmp_path: Path) -> None:
    answer = "one\u2028two\u2029three\x85four\x1cfive\nsix"

    pairs = read_pairs(write(tmp_path, pair(pool="poem", answer=answer), pair(pool="poem")), None, POOLS).pairs

    assert [one.answer for one in pairs] == [answer, "There was"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "pairs.jsonl is empty: expected lines such as"),
        ("\n \n", "pairs.jsonl is empty"),
        ("[]", "pairs.jsonl is empty"),
        ('[\n{"answer": "a"},\n]', r"pairs.jsonl:3: no JSON: .* at column 1; expected an object"),
        ('{"answer": "a"}\n{"id": "t1", "input": "q", "output": "a"}', "pairs.jsonl:2: .* another tool .* --from"),
    ],
)
def test_a_file_that_brings_nothing_is_refused_with_the_place_and_what_was_expected(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        read_pairs(write(tmp_path, text), "poem", POOLS)


@pytest.mark.parametrize(
    "text",
    ['{\n"answer":\n"one"\n}', '{"answer": "one"}\r{"answer": "one"}\r', '[{"answer": "one"},\n{"answer": "one"}]'],
)
def test_an_object_over_lines_and_lines_that_end_as_of_old_are_read(tmp_path: Path, text: str) -> None:
    found = read_pairs(write(tmp_path, text), "poem", POOLS)

    assert {one.answer for one in found.pairs} == {"one"}
    assert found.left_out == ({SAME: ["line 2"]} if len(found.pairs) == 2 else {})


def test_a_file_without_any_json_is_one_fault(tmp_path: Path) -> None:
    file = tmp_path / "pairs"
    file.write_text("prompt,answer\nWhat runs?,A river.\n")

    with pytest.raises(BadInput, match=r"pairs:1: no JSON, as in all lines: .* called NAME\.csv\. Text .* NAME\.txt"):
        read_pairs(file, "poem", POOLS)


def test_a_web_page_that_is_called_a_workbook_is_named(tmp_path: Path) -> None:
    """So some programs save their tables."""
    file = tmp_path / "pairs.xls"
    file.write_text("<html>\n<table><tr><td>prompt</td><td>answer</td></tr></table>\n</html>\n")

    with pytest.raises(BadInput, match=r'pairs\.xls:1: a web page\. Save a table as "CSV UTF-8"'):
        read_pairs(file, "poem", POOLS)


def test_a_text_is_a_document_unless_it_begins_as_lines_do(tmp_path: Path) -> None:
    (tmp_path / "prose.TXT").write_text("A lamp hangs here.\n\nA lamp hangs here.")
    (tmp_path / "lines.txt").write_text('\n{"answer": "A lamp"}\n')

    assert is_document(tmp_path / "prose.TXT")
    assert not is_document(tmp_path / "lines.txt")
    assert read_statements(tmp_path / "prose.TXT", "poem", "ada").left_out == {SAME: ["passage 2"]}


def test_a_heading_of_markdown_alone_is_no_statement(tmp_path: Path) -> None:
    text = "# Handbook\n\nLamps\n=====\n\n## Holidays\nThirty days.\n\n#1 is the best lamp.\n\n# \n"
    for name in ("handbook.md", "handbook.txt"):
        (tmp_path / name).write_text(text)

    found = read_statements(tmp_path / "handbook.md", "poem", "ada")
    sent, _ = pairs_of(enumerate(text_of(text.encode(), "handbook.md").split("\n")), "poem", POOLS, "ada", 1_000)

    assert found.left_out == sent.left_out == {HEADING: ["# Handbook", "Lamps =====", "#"]}
    assert found.pairs == sent.pairs
    assert [one.answer for one in found.pairs] == ["## Holidays Thirty days.", "#1 is the best lamp."]
    assert "# Handbook" in {one.answer for one in read_statements(tmp_path / "handbook.txt", "poem", "ada").pairs}


def test_a_line_with_the_names_of_a_table_is_told_how_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "faq.jsonl").write_text('{"question": "What burns?", "answer": "A lamp."}\n')

    with pytest.raises(BadInput, match=r"--from table: question"):
        read_pairs(tmp_path / "faq.jsonl", "poem", POOLS)


def test_lines_that_end_as_on_windows_are_read(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_bytes(b'{"pool": "poem", "answer": "one"}\r\n\r\n{"pool": "poem", "answer": "two"}\r\n')

    pairs = read_pairs(file, None, POOLS).pairs

    assert [one.answer for one in pairs] == ["one", "two"]


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.jsonl").write_bytes(b'{"answer": "\xe4"}')

    with pytest.raises(BadInput, match=r"none\.jsonl' cannot be read: No such file or directory"):
        read_pairs(tmp_path / "none.jsonl", None, POOLS)
    with pytest.raises(BadInput, match=r"latin\.jsonl:1: byte 13 of the line, 0xe4, is not UTF-8"):
        read_pairs(tmp_path / "latin.jsonl", None, POOLS)
    with pytest.raises(BadInput, match=r"cannot be read: Is a directory"):
        read_pairs(tmp_path, None, POOLS)
    (tmp_path / "latin.txt").write_bytes(b"Gr\xfc\xdfe")
    with pytest.raises(BadInput, match=r"latin\.txt:1: byte 3 of the line, 0xfc, is not UTF-8"):
        read_statements(tmp_path / "latin.txt", "poem", "ada")


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("created", "1e999"),
        ("created", "-1e999"),
        ("created", "NaN"),
        ("created", "-1"),
        ("created", "253402300800"),
        ("score", "NaN"),
        ("score", "101"),
        ("criteria", '{"rhyme": {"low": NaN, "high": 1, "points": 10}}'),
        ("criteria", '{"rhyme": {"low": 1, "high": 1e999, "points": 10}}'),
        ("history", '[{"prompt": null, "answer": "No", "until": 1e999}]'),
        ("pool", '""'),
        ("pool", '"\\u001b[2J"'),
        ("pool", '"a\\u202eb"'),
        ("pool", json.dumps("x" * 1_000_000)),
        ("kind", '" "'),
        ("agent", '"a\\nb"'),
        ("submitter", '"\\u0000"'),
    ],
)
def test_a_line_with_a_number_or_a_name_that_cannot_be_is_refused(tmp_path: Path, field: str, wrong: str) -> None:
    known = remembered("red lamp", score=90)[0].model_dump(mode="json", exclude={field})
    line = json.dumps(known)[:-1] + f', "{field}": {wrong}}}'

    with pytest.raises(BadInput, match=rf"pairs\.jsonl:1: (the memory: {field}|NaN is no JSON)"):
        read_pairs(write(tmp_path, line), None, POOLS)


def test_a_name_in_any_script_and_with_marks_is_a_name(tmp_path: Path) -> None:
    text = remembered("red lamp", pool="詩 [/] (1)", submitter="Zoë O’Neill")[0].model_dump_json()

    [whole] = read_pairs(write(tmp_path, text), None, POOLS).whole

    assert (whole.pool, whole.submitter) == ("詩 [/] (1)", "Zoë O’Neill")


def said(*turns: str) -> list[dict[str, str]]:
    """Turns of the user and the assistant by turns, from the user's first."""
    return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(turns)]


def test_a_conversation_is_a_pair_whose_last_turn_is_the_answer(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        {"messages": said("A lamp", "There was"), "pool": "poem"},
        {"messages": said("A lamp", "Which?", "A red one", "There was a red lamp"), "pool": "poem"},
    )

    pairs = read_pairs(file, None, POOLS).pairs

    assert [(one.prompt, one.answer) for one in pairs] == [
        ("A lamp", "There was"),
        ("User: A lamp\nAssistant: Which?\nUser: A red one", "There was a red lamp"),
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ({"messages": said("A lamp")}, "ends with the assistant's answer"),
        ({"messages": "A lamp"}, "ends with the assistant's answer"),
        ({"messages": said("A lamp", "There was"), "answer": "x"}, "not both"),
        ({"messages": [*said("A lamp", "So?"), {"role": "assistant", "content": "There was"}]}, "of role 'user'"),
    ],
)
def test_messages_that_are_no_pair_are_refused_with_the_reason(tmp_path: Path, line: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        read_pairs(write(tmp_path, line | {"pool": "poem"}), None, POOLS)


@pytest.mark.parametrize(
    "line",
    [
        '{"prompt": "q", "answer": "first", "answer": "second"}',
        '{"answer": "x", "pool": "poem", "pool": "plan"}',
        '{"messages": [{"role": "user", "content": "q", "content": "p"}, {"role": "assistant", "content": "a"}]}',
    ],
)
def test_two_keys_of_one_name_are_refused_with_the_key_and_the_line(tmp_path: Path, line: str) -> None:
    key = next(name for name in ("answer", "pool", "content") if line.count(f'"{name}"') > 1)

    with pytest.raises(BadInput, match=rf"pairs\.jsonl:2: the key '{key}' stands twice"):
        read_pairs(write(tmp_path, pair(), line), "poem", POOLS)
    with pytest.raises(BadInput, match=rf"pairs\.jsonl:2: the key '{key}' stands twice"):
        read_pairs(write(tmp_path, f"[{json.dumps(pair())} ,\n{line}]"), "poem", POOLS)


@pytest.mark.parametrize("text", ['[{"answer": "a"}]', '[\n {"answer": "a"} ,\n\t{"answer": "]["}\n]\n'])
def test_a_list_of_objects_has_a_line_for_each(tmp_path: Path, text: str) -> None:
    pairs = read_pairs(write(tmp_path, text), "poem", POOLS).pairs

    assert [one.answer for one in pairs] == [one["answer"] for one in json.loads(text)]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("field", ["prompt", "answer"])
def test_a_text_that_is_too_long_to_be_shown_is_refused_with_what_to_do(
    tmp_path: Path, field: str, whole: bool
) -> None:
    line = remembered("red lamp")[0].model_dump(mode="json") if whole else pair(pool="poem")
    file = write(tmp_path, line | {field: "x" * 21})

    with pytest.raises(BadInput, match=rf"pairs\.jsonl:1: The {field} has 21 characters; at most 20 .*PROMPT_LIMIT"):
        read_pairs(file, None, POOLS, limit=20)
    assert len(read_pairs(write(tmp_path, line | {field: "x" * 20}), None, POOLS, limit=20).ids) == 1


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("field", ["prompt", "answer"])
@pytest.mark.parametrize("text", ["\u200b", "\u3164\u2800", "\ufeff \u00a0"])
def test_a_text_that_shows_nothing_is_empty(tmp_path: Path, field: str, text: str, whole: bool) -> None:
    line = remembered("red lamp")[0].model_dump(mode="json") if whole else pair(pool="poem")

    with pytest.raises(BadInput, match=r"pairs\.jsonl:1: the memory: .*empty"):
        read_pairs(write(tmp_path, line | {field: text}), None, POOLS)


def test_several_spellings_of_one_pair_are_one_memory(tmp_path: Path) -> None:
    prompt = "Where is N\u00eemes?"
    forms = [prompt, "Where is Ni\u0302mes?", prompt.replace(" ", "\u00a0"), prompt + "\u200b", "\ufeff" + prompt]

    found = read_pairs(write(tmp_path, *(pair(prompt=form) for form in forms)), "poem", POOLS)

    assert len(set(found.ids)) == 1
    assert [one.prompt for one in found.pairs] == forms, "each text is as it was given"


def test_a_paragraph_is_cut_where_no_longer_text_is_taken(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("One sentence. " * 20 + "\n\n\u200b\n\nThe end.", encoding="utf-8")

    pairs = read_statements(tmp_path / "long.txt", "poem", "ada", 50).pairs

    assert max(len(one.answer) for one in pairs) <= 50
    assert pairs[-1].answer == "The end."
