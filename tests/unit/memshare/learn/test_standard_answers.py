from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import redis

from memshare.client.client import Client
from memshare.learn.bootstrap import StandardAnswer, read_standard_answers
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings

LAMP = StandardAnswer(agent="poem", kind="limerick", answer="There was a lamp")


@pytest.fixture
def client(settings: Settings, redis_client: redis.Redis) -> Iterator[Client]:
    assert redis_client.dbsize() == 0
    with closing(Client(settings.model_copy(update={"prompt_limit": 20}))) as client:
        yield client


def write(tmp_path: Path, *lines: object) -> Path:
    file = tmp_path / "lines.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return file


def test_a_line_says_its_agent_and_kind_or_the_options_do_and_each_line_counts_once(
    client: Client, tmp_path: Path
) -> None:
    file = write(
        tmp_path,
        {"answer": "There was a lamp", "source": "Lear, 2"},
        {"answer": "There was a lamp", "kind": "limerick", "source": "Lear, 3"},
        {"answer": "An echo", "agent": "logic", "kind": None},
    )

    lines = read_standard_answers(client, file, "poem", "limerick", with_prompts=False)

    assert lines == [LAMP, StandardAnswer(agent="logic", answer="An echo")]


def test_the_rows_of_a_table_are_lines_also_of_one_column(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "lines.csv"
    file.write_text("answer\nThere was, a lamp\n\n")
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("Question;Output;Source\nWhat shines?;A lamp;\n")

    [learnt] = read_standard_answers(client, file, "poem", None, with_prompts=False)
    [seeded] = read_standard_answers(client, pairs, "logic", None, with_prompts=True)

    assert learnt == StandardAnswer(agent="poem", answer="There was, a lamp")
    assert seeded == StandardAnswer(agent="logic", prompt="What shines?", answer="A lamp")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ({"answer": "x"}, "no agent: give one as \"agent\" in the line, or with --agent"),
        ({"answer": "x", "agent": "novel"}, "no agent is called 'novel'; there are logic, plan, poem, reasoning"),
        ({"answer": "x", "agent": "poem", "kind": "haiku"}, "agent 'poem' has no kind 'haiku'; it has limerick"),
        ({"answer": " ", "agent": "poem"}, "the line: answer: it is empty"),
        ({"agent": "poem"}, "the line: 'answer' is missing"),
        ({"answer": "x" * 21, "agent": "poem"}, "The answer has 21 characters; at most 20 are taken"),
        ({"answer": "x", "agent": "poem", "colour": 1}, "the line: 'colour' is none of its fields"),
        ({"answer": "x", "agent": "poem", "prompt": "y"}, "it has its prompt: `memshare seed` takes pairs"),
        ("{", "no JSON"),
    ],
)  # fmt: skip
def test_one_wrong_line_and_the_file_is_refused(client: Client, tmp_path: Path, line: object, fault: str) -> None:
    file = write(tmp_path, {"answer": "good", "agent": "poem"}, line)

    with pytest.raises(BadInput) as caught:
        read_standard_answers(client, file, None, None, with_prompts=False)

    assert str(caught.value).startswith(f"Nothing was submitted.\n{file}:2: {fault}")


def test_of_many_wrong_lines_the_first_five_are_named(client: Client, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read_standard_answers(client, write(tmp_path, *["{"] * 7), None, None, with_prompts=False)

    assert str(caught.value).count("no JSON") == 5
    assert str(caught.value).endswith("\n… and 2 more lines")


def test_a_pair_without_its_prompt_is_no_pair(client: Client, tmp_path: Path) -> None:
    file = write(tmp_path, {"answer": "x", "agent": "poem"})

    with pytest.raises(BadInput, match="no prompt: `memshare learn` takes answers without their questions"):
        read_standard_answers(client, file, None, None, with_prompts=True)


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("pairs.jsonl", b"", "is empty: expected lines such as {"),
        ("pairs.jsonl", b"[]", "is empty"),
        ("pairs.csv", b"\xef\xbb\xbf", "is empty"),
        ("pairs.csv", b"\n \n", "is empty"),
        ("pairs.csv", b"prompt,answer\n", 'has a header and no rows: expected rows, with the fields of {"agent"'),
    ],
)
def test_a_file_in_which_nothing_stands_is_refused_with_what_was_expected(
    client: Client, tmp_path: Path, name: str, raw: bytes, said: str
) -> None:
    file = tmp_path / name
    file.write_bytes(raw)

    with pytest.raises(BadInput, match=re.escape(f"{name} {said}")):
        read_standard_answers(client, file, None, None, with_prompts=False)
