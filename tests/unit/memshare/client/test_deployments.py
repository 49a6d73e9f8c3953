"""The file of several deployments."""

from __future__ import annotations

from pathlib import Path

import pytest

from memshare.client.deployments import read_deployments
from memshare_broker.errors import BadInput

POEMS = """\
[poems]
agents = ["poem"]
redis_url = "redis://:secret@redis.poems:6379/0"
memory_url = "http://memory.poems:8077"
"""
PUZZLES = """\
[puzzles]
agents = ["logic", "plan"]
redis_url = "redis://redis.puzzles:6379/0"
memory_url = "http://memory.puzzles:8077"
memory_token = "of puzzles"
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "deployments.toml"
    file.write_text(text)
    return file


def test_a_deployment_is_where_its_table_says_and_the_rest_is_as_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSHARE_REDIS_URL", "redis://elsewhere:6379/0")
    monkeypatch.setenv("MEMSHARE_MEMORY_TOKEN", "of this machine")
    monkeypatch.setenv("MEMSHARE_PROMPT_LIMIT", "77")

    found = read_deployments(written(tmp_path, POEMS + PUZZLES))

    assert list(found) == ["poems", "puzzles"]
    (poems, theirs), (puzzles, others) = found.values()
    assert (theirs, others) == (("poem",), ("logic", "plan"))
    assert poems.redis == "redis://:secret@redis.poems:6379/0"
    assert puzzles.memory_url == "http://memory.puzzles:8077"
    assert poems.memory_token
    assert puzzles.memory_token
    tokens = [one.memory_token.get_secret_value() for one in (poems, puzzles) if one.memory_token]
    assert tokens == ["of this machine", "of puzzles"]
    assert poems.prompt_limit == puzzles.prompt_limit == 77


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (POEMS + PUZZLES.replace("plan", "poem"), ":1: the agent 'poem' is in two deployments"),
        (POEMS.replace("redis://:secret@", "http://:secret@"), ":3: poems.redis_url: "),
        (POEMS.replace("memory_url", "memory"), ":1: 'poems.memory_url' is missing"),
        (POEMS + "pool = 'poem'\n", ":5: poems.pool: no such key is known"),
        ("", ":1: expected a table for each deployment"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadInput) as error:
        read_deployments(written(tmp_path, text))

    assert said in str(error.value)
    assert ":secret@" not in str(error.value)
