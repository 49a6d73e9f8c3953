"""A criterion's points from a program, and what becomes of one that gives none."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis

from memshare_agents.roster import load_roster
from memshare_broker.child_processes import children_of
from memshare_broker.delivery.journey_records import unremembered
from memshare_broker.errors import BadInput, GiveUp
from memshare_broker.wire.grades import PROGRAM, Settlement
from memshare_broker.wire.messages import AgentPair, Examples
from memshare_llm.models import NoModel
from memshare_memory.belief.lift import LiftSums, without_grade
from memshare_scorer.grading import NotGraded, PairToGrade, grade
from memshare_scorer.programs import COMMAND as CHILD
from memshare_scorer.programs import require_checks
from memshare_scorer.rubric import Rubric, find_rubric
from memshare_scorer.tasks import ScoreStage
from memshare_scorer.worker import _note_ungraded
from tests.support.answered import a_task
from tests.support.deployment import wait_for
from tests.support.scripted_chat import ScriptedChat

MODULE = """
import os, time

def half(prompt, answer):
    return 0.5

def right(prompt, answer, *, wanted):
    return answer == wanted

def given(prompt, answer):
    return eval(answer)

def knows_a_key(prompt, answer):
    return "OPENAI_API_KEY" in os.environ
"""
COMMAND = """
import json, sys
asked = json.load(sys.stdin)
print("tests passed:", file=sys.stderr)
print(asked["options"]["points"] if asked["answer"] == "42" else 0)
"""
PAIR = PairToGrade(None, "What is six times seven?", "42")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own_checks.py").write_text(MODULE)
    (tmp_path / "tests.py").write_text(COMMAND)
    return tmp_path


def rubric(folder: Path, *criteria: dict[str, Any]) -> Rubric:
    points = 100 // len(criteria)
    described = [{"name": f"one_{at}", "points": points, "description": "It is right."} for at in range(len(criteria))]
    made = Rubric.model_validate(
        {"domain": "Sums", "criteria": [one | more for one, more in zip(described, criteria, strict=True)]}
    )
    return made.model_copy(update={"name": "sums", "folder": folder})


def test_a_rubric_with_checks_alone_asks_no_model(folder: Path) -> None:
    sums = rubric(
        folder,
        {"check": "own_checks:right", "options": {"wanted": "42"}},
        {"check": ["python", "tests.py"], "options": {"points": 0.25}},
    )
    chat = ScriptedChat()

    score = grade(chat, sums, 60, PAIR, votes=3)

    assert {name: (one.low, one.high) for name, one in score.criteria.items()} == {
        "one_0": (50, 50),
        "one_1": (12.5, 12.5),
    }
    assert (score.total, score.accepted, score.model) == (62.5, True, PROGRAM)
    assert score.usage.prompt_tokens == 0


def test_checks_stand_beside_what_a_model_judges(folder: Path) -> None:
    sums = rubric(folder, {"check": "own_checks:half"}, {})
    chat = ScriptedChat({"one_1": {"low": 20, "high": 40}})

    score = grade(chat, sums, 81, PAIR, votes=1)

    assert {name: (one.low, one.high) for name, one in score.criteria.items()} == {"one_0": (25, 25), "one_1": (20, 40)}
    assert (score.total, score.model) == (55, "scripted")
    assert [*json.loads(chat.conversations[0][1].content)["criteria"]] == ["one_1"]


@pytest.mark.parametrize(("answer", "value"), [("1", 100), ("True", 100), ("False", 0), ("0.1", 10)])
def test_a_check_gives_a_share_of_the_points(folder: Path, answer: str, value: float) -> None:
    sums = rubric(folder, {"check": "own_checks:given"})
    assert grade(ScriptedChat(), sums, 81, PAIR._replace(answer=answer), votes=1).total == value


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("2", "2"),
        ("-1", "-1"),
        ("'all'", "'all'"),
        ("float('nan')", "nan"),
        ("1 / 0", "ZeroDivisionError"),
        ("__import__('sys').exit(0)", "SystemExit"),
        ("os._exit(3)", "exit code 3"),
        ("os.kill(os.getpid(), 9)", "signal 9"),
        ("time.sleep(60)", "more than 1 s"),
        ("len(list(range(10 ** 10)))", "more than 300 MB"),
    ],
)
def test_a_check_that_gives_no_share_is_a_dead_letter_and_the_next_pair_is_graded(
    folder: Path, answer: str, named: str
) -> None:
    sums = rubric(folder, {"check": "own_checks:given", "check_limits": {"seconds": 1, "megabytes": 300}})

    with pytest.raises(GiveUp) as caught:
        grade(ScriptedChat(), sums, 81, PAIR._replace(answer=answer), votes=1)

    assert caught.value.reason == "check"
    assert named in str(caught.value)
    assert "'own_checks:given'" in str(caught.value)
    assert grade(ScriptedChat(), sums, 81, PAIR._replace(answer="1"), votes=1).total == 100


@pytest.mark.parametrize(
    ("program", "named"),
    [
        ("print('all of them')", "all of them"),
        ("print(3)", "3"),
        ("raise SystemExit('no such database')", "exit code 1: no such database"),
        ("pass", "no output"),
        ("x = bytearray(10**9); print(1)", "MemoryError"),
    ],
)
def test_a_command_that_gives_no_share_is_a_dead_letter(folder: Path, program: str, named: str) -> None:
    sums = rubric(folder, {"check": ["python", "-c", program], "check_limits": {"megabytes": 300}})

    with pytest.raises(GiveUp) as caught:
        grade(ScriptedChat(), sums, 81, PAIR, votes=1)

    assert named in str(caught.value)


def test_what_nobody_could_grade_is_noted_on_the_side_that_chance_took(redis_client: redis.Redis) -> None:
    task = a_task("sums").model_copy(update={"examples": Examples(model="m", number=0, by_chance=True)})

    _note_ungraded(redis_client, LiftSums(redis_client), task)

    [(group, shown, without)] = without_grade(redis_client, task.pool)
    assert (group.way, shown.tasks, without.tasks) == ("all withheld", 0, 1)
    assert unremembered(redis_client) == set()
    _note_ungraded(redis_client, LiftSums(redis_client), a_task("sums").model_copy(update={"remember": False}))
    assert unremembered(redis_client) == {task.journey}, "others would push it out of what is asked twice"


@pytest.mark.parametrize("check", ["own_checks:given", ["python", "-c", "print('null')"]])
def test_a_pair_to_whose_prompt_a_check_knows_no_right_answer_ends_without_a_grade_and_asks_no_model(
    folder: Path, check: Any
) -> None:
    sums = rubric(folder, {"check": check}, {})
    (folder / "sums.rubric.toml").write_text(
        f'domain = "Sums"\n[[criteria]]\nname = "right"\npoints = 50\ndescription = "It is right."\n'
        f"check = {json.dumps(check)}\n"
        '[[criteria]]\nname = "clear"\npoints = 50\ndescription = "Low: muddled; full: clear."\n'
    )
    version = find_rubric("sums", folder).version
    with (folder / "sums.rubric.toml").open("a") as file:
        file.write(f'[approval]\nby = "ada"\non = 2026-11-23\nversion = "{version}"\n')
    chat = ScriptedChat()

    noted: list[AgentPair] = []
    stage = ScoreStage(chat, folder, 1, lambda _: None, note_ungraded=noted.append)
    asked = a_task("sums").model_copy(update={"answer": "None"})
    outcome = stage.run("j", asked)
    assert noted == [asked], "without a grade"

    assert isinstance(outcome.record, Settlement)
    assert (outcome.record.outcome, outcome.following, chat.conversations) == ("not graded", None, [])
    assert "'right'" in outcome.record.reason
    assert "no right answer" in outcome.record.reason
    with pytest.raises(NotGraded):
        grade(chat, sums, 81, PAIR._replace(answer="None"), votes=1)


def test_a_command_that_takes_too_long_is_ended_with_what_it_runs(folder: Path) -> None:
    waits = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"
    sums = rubric(folder, {"check": ["python", "-c", waits], "check_limits": {"seconds": 2}})

    with pytest.raises(GiveUp, match="more than 2 s"):
        grade(ScriptedChat(), sums, 81, PAIR, votes=1)

    pid = int((folder / "pid").read_text())
    wait_for(lambda: not psutil.pid_exists(pid), 10, "the command's end")


def test_a_check_knows_no_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefgh12345678")
    children_of(os.getpid(), CHILD, os.cpu_count() or 1).close()
    assert grade(ScriptedChat(), rubric(folder, {"check": "own_checks:knows_a_key"}), 81, PAIR, votes=1).total == 0


@pytest.mark.parametrize(
    ("criterion", "named"),
    [
        ({"check": "no_such_module:half"}, "no_such_module"),
        ({"check": "own_checks:no_such_function"}, "no_such_function"),
        ({"check": "own_checks:right"}, "wanted"),
        ({"check": "own_checks:half", "options": {"surplus": 1}}, "surplus"),
        ({"check": ["no-such-program"]}, "no-such-program"),
    ],
)
def test_an_unknown_program_is_told_at_the_start(folder: Path, criterion: dict[str, Any], named: str) -> None:
    with pytest.raises(BadInput) as caught:
        require_checks([rubric(folder, {"check": "own_checks:half"}, criterion)])

    assert named in str(caught.value)
    assert "'one_1'" in str(caught.value)


def test_what_is_there_is_taken_at_the_start(folder: Path) -> None:
    criteria = ({"check": "own_checks:right", "options": {"wanted": "42"}}, {"check": ["python", "tests.py"]})
    require_checks([rubric(folder, *criteria)])


def test_a_pair_is_graded_by_the_check_of_a_rubric_file(folder: Path) -> None:
    text = (
        'domain = "Sums"\n[[criteria]]\nname = "right"\npoints = 100\ndescription = "It is right."\n'
        'check = "own_checks:right"\noptions = {{wanted = "Walk."}}\n'
        '[approval]\nby = "ada"\non = 2026-11-23\nversion = "{version}"\n'
    )
    file = folder / "sums.rubric.toml"
    file.write_text(text.format(version="none"))
    file.write_text(text.format(version=find_rubric("sums", folder).version))

    for chat in (ScriptedChat(), NoModel()):  # neither is asked
        record = ScoreStage(chat, folder, 1, lambda _: None).run("journey-1", a_task("sums")).record

        assert record.total == 100  # type: ignore[union-attr]


def test_another_check_is_another_version(folder: Path) -> None:
    assert (
        rubric(folder, {"check": "own_checks:half"}).version
        != rubric(folder, {"check": "own_checks:given"}).version
        != rubric(folder, {}).version
    )


def test_pairs_are_checked_one_after_the_other_by_the_same_processes(folder: Path) -> None:
    sums = rubric(folder, {"check": "own_checks:half"})
    grade(ScriptedChat(), sums, 81, PAIR, votes=1)
    began = time.monotonic()
    for _ in range(50):
        grade(ScriptedChat(), sums, 81, PAIR, votes=1)
    living = [one for one in psutil.Process().children() if one.status() != psutil.STATUS_ZOMBIE]
    mine = [one for one in living if "memshare_scorer.check_process" in one.cmdline()]
    assert len(mine) <= (os.cpu_count() or 1), time.monotonic() - began


def test_the_agent_and_the_rubric_of_the_documentation_can_be_copied(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "agents.md").read_text("utf-8")
    agent, rubric, *_ = (block.partition("```")[0] for block in page.split("```toml\n")[1:])
    (tmp_path / "orders.toml").write_text(agent)
    (tmp_path / "copied.rubric.toml").write_text(rubric)
    (tmp_path / "lint.py").write_text("print(1)")

    copied = find_rubric("copied", tmp_path)

    require_checks([copied])
    assert load_roster(tmp_path)["orders"].rubric == "orders"
    assert [one.check is None for one in copied.criteria] == [False, False, True]
