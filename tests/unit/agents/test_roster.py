from __future__ import annotations

from pathlib import Path

import pytest

from memshare_agents.roster import cards, load_roster
from memshare_broker.errors import BadInput
from memshare_broker.settings import Settings

COOK = """description = "Writes recipes."
instructions = "You write recipes."
pool = "kitchen"
rubric = "plan"
memories = 2

[kinds.soup]
instructions = "Write one soup."

[kinds.bread]
recall = "hybrid"
instructions = "Write one bread."
"""


def refusal(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        load_roster(folder)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(f"{folder}/")


def test_the_bundled_agents_have_their_nine_kinds() -> None:
    roster = load_roster(None)

    assert {name: tuple(agent.kinds) for name, agent in roster.items()} == {
        "logic": ("puzzle", "riddle", "pun"),
        "plan": ("study", "travel", "fitness"),
        "poem": ("limerick", "wuyanlvshi", "sonnet"),
        "reasoning": (),
    }
    assert {(agent.name, agent.pool, agent.memories) for agent in roster.values()} == {
        ("logic", "logic", None),
        ("plan", "plan", None),
        ("poem", "poem", None),
        ("reasoning", "reasoning", 5),
    }


def test_every_kind_has_instructions_of_its_own() -> None:
    roster = load_roster(None)

    texts = [agent.kind(name).instructions for agent in roster.values() for name in (None, *agent.kinds)]

    assert len(texts) == len(set(texts)) == 13


def test_chinese_verse_is_recalled_by_words_too() -> None:
    poem = load_roster(None)["poem"]

    assert poem.kind("wuyanlvshi").recall == "hybrid"
    assert poem.recall == "dense"


def test_the_instructions_of_a_kind_are_told_beside_those_of_the_agent(tmp_path: Path) -> None:
    (tmp_path / "cook.toml").write_text(COOK)
    cook = load_roster(tmp_path)["cook"]

    assert cook.kind(None).instructions == "You write recipes."
    assert cook.kind("soup").instructions == "You write recipes.\n\nWrite one soup."


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadInput, match=r"Agent 'poem' has no kind 'haiku'. It has: limerick, wuyanlvshi, sonnet\."):
        load_roster(None)["poem"].kind("haiku")


def test_an_agent_without_kinds_says_to_leave_the_kind_out(tmp_path: Path) -> None:
    (tmp_path / "cook.toml").write_text(COOK.partition("[kinds.soup]")[0])

    with pytest.raises(BadInput, match="It has: none; leave the kind out"):
        load_roster(tmp_path)["cook"].kind("soup")


def test_a_file_in_the_users_folder_adds_an_agent(tmp_path: Path) -> None:
    (tmp_path / "cook.toml").write_text(COOK)
    (tmp_path / "cook.rubric.toml").write_text("this is no agent")
    (tmp_path / "notes.txt").write_text("neither is this")

    roster = load_roster(tmp_path)

    assert sorted(roster) == ["cook", "logic", "plan", "poem", "reasoning"]
    assert roster["cook"].pool == "kitchen"
    assert roster["cook"].memories == 2
    assert [roster["cook"].kind(name).recall for name in ("soup", "bread")] == [None, "hybrid"]


def test_the_users_file_wins_over_the_bundled_one_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "poem.toml").write_text(COOK)

    roster = load_roster(tmp_path)

    assert sorted(roster) == ["logic", "plan", "poem", "reasoning"]
    assert roster["poem"].name == "poem"
    assert roster["poem"].description == "Writes recipes."


def test_a_card_says_which_model_an_agent_has(tmp_path: Path) -> None:
    (tmp_path / "cook.toml").write_text(f'model = "openai:small"\n{COOK}')

    found = {card.name: card for card in cards(Settings(agents_dir=tmp_path, model="offline"))}

    assert found["cook"].model == "openai:small"
    assert found["cook"].kinds == ("soup", "bread")
    assert found["poem"].model == "offline"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"kitchen"', '"kitchen', "cook.toml:3: this is not valid TOML: "),
        ("memories = 2", "memory = 2", "cook.toml:5: memory: no such key is known here"),
        ("memories = 2", "memories = 21", "cook.toml:5: memories: Input should be less than or equal to 20"),
        ('pool = "kitchen"', "", "cook.toml:1: name its 'pool', or several as 'pools': one"),
        ('pool = "kitchen"', 'pool = "My Kitchen"', "cook.toml:3: pool: expected a name such as 'team'"),
        ('"Write one soup."', '"  "', "cook.toml:8: kinds.soup.instructions: String should have at least 1 character"),
        ('instructions = "Write one soup."', "", "cook.toml:7: 'kinds.soup.instructions' is missing."),
        ('recall = "hybrid"', 'recall = "magic"', "cook.toml:11: kinds.bread.recall: Input should be 'dense' or"),
        ("[kinds.soup]", "[kinds.Soup]", "cook.toml:7: kinds.Soup: expected up to 41 letters (a-z)"),
    ],
)
def test_a_broken_file_is_refused_with_file_line_and_reason(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in COOK

    message = refusal(tmp_path, "cook.toml", COOK.replace(old, new))

    assert message.startswith(expected)


@pytest.mark.parametrize("name", ["Cook.toml", "my cook.toml", "1cook.toml", f"{'x' * 60}.toml"])
def test_a_file_whose_name_cannot_be_a_queue_is_refused(tmp_path: Path, name: str) -> None:
    message = refusal(tmp_path, name, COOK)

    assert message == f"{name}:1: an agent's file is named NAME.toml with NAME of a-z, 0-9, _ and -."


@pytest.mark.parametrize("name", ["scorer", "memory", "trainer"])
def test_an_agent_cannot_take_the_queue_of_another_stage(tmp_path: Path, name: str) -> None:
    message = refusal(tmp_path, f"{name}.toml", COOK)

    assert message == f"{name}.toml:1: an agent cannot be called {name!r}: the queue of that name is taken."


@pytest.mark.parametrize("name", ["none", "a-file"])
def test_what_is_no_folder_is_refused_by_its_setting(tmp_path: Path, name: str) -> None:
    (tmp_path / "a-file").touch()

    with pytest.raises(BadInput, match=rf"MEMSHARE_AGENTS_DIR='.*/{name}' is no folder"):
        load_roster(tmp_path / name)


def test_a_card_says_of_which_kinds_answers_are_made_up() -> None:
    invented = {card.name: card.invented for card in cards(Settings(model="offline"))}

    assert set(invented["poem"]) == {None, "limerick", "wuyanlvshi", "sonnet"}
    assert (invented["logic"], invented["plan"]) == (("pun",), ())


def test_a_card_says_where_a_file_fixes_how_many_memories_are_shown() -> None:
    numbers = {card.name: card.memories for card in cards(Settings(model="offline"))}

    assert (numbers["poem"], numbers["reasoning"]) == (None, 5)


def test_an_agent_recalls_from_several_pools_and_an_old_file_from_its_own(tmp_path: Path) -> None:
    pools = 'pools = ["mine/{submitter}", "team", "shared"]'
    (tmp_path / "spaced.toml").write_text(COOK.replace('pool = "kitchen"', pools))
    (tmp_path / "cook.toml").write_text(COOK)

    roster = load_roster(tmp_path)

    assert roster["spaced"].spaces("ada").pools == ("mine/ada", "team", "shared")
    assert roster["cook"].spaces("ada").pools == ("kitchen",)
    assert roster["cook"].pool == "kitchen"


@pytest.mark.parametrize(
    ("pools", "told"),
    [
        ('pool = "kitchen"\npools = ["team"]', "one of the two"),
        ("", "one of the two"),
        ('pools = ["team", "team"]', "once"),
        ('pools = ["team", "mine/{submitter}"]', "comes first"),
        ('pools = ["mine/ada", "team"]', "pools"),
        ('pools = ["{submitter}"]', "pools"),
        ('pool = "../kitchen"', "pool"),
        ("pools = 3", "one of the two"),
    ],
)
def test_pools_that_could_be_mistaken_are_refused(tmp_path: Path, pools: str, told: str) -> None:
    assert told in refusal(tmp_path, "cook.toml", COOK.replace('pool = "kitchen"', pools))
