from __future__ import annotations

from pathlib import Path

import pytest

from memshare.evaluation.variants import Label, Setup, write_variants
from memshare_agents.roster import load_roster
from memshare_broker.errors import BadInput
from memshare_scorer.rubric import find_rubric

COOK = """description = "Answers about food."
instructions = "Answer."
pool = "kitchen"
rubric = "integrated"
"""


def test_the_reasoning_agent_is_in_the_roster_with_its_engine() -> None:
    agent = load_roster(None)["reasoning"]

    assert (agent.engine, agent.pool, agent.rubric, agent.recall) == ("reasoning", "reasoning", "integrated", "hybrid")
    assert agent.models == {}
    assert (agent.limits.depth, agent.limits.steps) == (5, 24)


def test_any_agent_can_have_the_engine_with_models_and_limits_of_its_own(tmp_path: Path) -> None:
    more = 'engine = "reasoning"\n[models]\ndiscriminator = "openai:big"\n[limits]\nsteps = 9\n'
    (tmp_path / "cook.toml").write_text(COOK + more)

    cook = load_roster(tmp_path)["cook"]

    assert cook.models == {"discriminator": "openai:big"}
    assert (cook.limits.steps, cook.limits.depth) == (9, 5)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ('engine = "magic"\n', "cook.toml:5: engine: Input should be 'reasoning', not 'magic'."),
        ('[models]\nresponder = "offline"\n', "models and limits are of an engine"),
        ("[limits]\nsteps = 9\n", "models and limits are of an engine"),
        ('engine = "reasoning"\n[limits]\nsteps = 0\n', "cook.toml:7: limits.steps: Input should be greater than"),
        ('engine = "reasoning"\n[limits]\nseconds = 0\n', "cook.toml:7: limits.seconds: Input should be greater than"),
        ('tools = ["a.py:b"]\n', "tools, database, models and limits are of an engine"),
        ('database = "a.db"\n', "tools, database, models and limits are of an engine"),
        ('engine = "reasoning"\ntools = ["a.py"]\n', "cook.toml:6: tools"),
        ('engine = "reasoning"\n[limits]\nhops = 9\n', "cook.toml:7: limits.hops: no such key is known here."),
    ],
)
def test_what_no_engine_can_use_is_refused(tmp_path: Path, more: str, expected: str) -> None:
    (tmp_path / "cook.toml").write_text(COOK + more)

    with pytest.raises(BadInput) as caught:
        load_roster(tmp_path)

    assert expected in str(caught.value)


def test_copies_of_agents_have_beside_them_what_their_checks_read(tmp_path: Path) -> None:
    (own := tmp_path / "own").mkdir()
    (own / "cook.toml").write_text(COOK)
    (own / "answers.jsonl").write_text("{}\n")
    setup = Setup(Label("copy", lambda pool, _: pool), "offline", 0)

    for _ in range(2):  # as an experiment does that goes on
        write_variants(tmp_path / "copies", own, ["cook"], [setup], {})

    rubric = find_rubric(setup.agent("cook"), tmp_path / "copies")
    assert (rubric.folder / "answers.jsonl").read_text() == "{}\n"
    assert rubric.approved, "as the rubric was of which it is a copy"


def test_tools_lie_beside_the_file_wherever_a_copy_of_it_is_written(tmp_path: Path) -> None:
    more = (
        'engine = "reasoning"\ntools = ["https://tools.example/mcp", "tides.py:high_water"]\ndatabase = "library.db"\n'
    )
    (tmp_path / "cook.toml").write_text(COOK + more)
    copied = Setup(Label("copy", lambda pool, _: pool), "offline", 0)
    plain = Setup(Label("plain", lambda pool, _: pool, one_call=True), "offline", 0)

    write_variants(tmp_path / "copies", tmp_path, ["cook"], [copied, plain], {})
    roster = load_roster(tmp_path / "copies")

    assert roster[copied.agent("cook")].tools == ("https://tools.example/mcp", f"{tmp_path}/tides.py:high_water")
    assert roster[copied.agent("cook")].database == f"{tmp_path}/library.db"
    assert (roster[plain.agent("cook")].tools, roster[plain.agent("cook")].database) == ((), None)
