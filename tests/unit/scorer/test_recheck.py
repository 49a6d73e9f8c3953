"""Stored answers are checked again: what fails is hidden, and a broken check hides nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import redis

from memshare_broker.presence import AgentCard, Presence, announce
from memshare_broker.settings import Settings
from memshare_broker.wire.grades import CriterionScore
from memshare_memory.curate.requests import Edit
from memshare_memory.door.client import MemoryClient
from memshare_memory.memory import Memory
from memshare_memory.stores.store import Where
from memshare_scorer import recheck as rechecks
from memshare_scorer.recheck import BUSY, RECHECKS, Hide, Recheck, pulse, recheck, rubrics_of, watched
from memshare_scorer.rubric import Rubric, read_rubric
from tests.support.memories import remembered

MODULE = """
import pathlib

def right(prompt, answer, *, answers):
    known = dict(line.split("=") for line in pathlib.Path(answers).read_text().split())
    if answer == "crash":
        raise RuntimeError("the database is away")
    return known[prompt] == answer if prompt in known else None
"""
CHECKED: dict[str, Any] = {"name": "right", "points": 100, "check": "sums:right", "options": {"answers": "answers.txt"}}
STYLE = {"name": "style", "points": 50}
CARD = AgentCard(name="sums", kinds=(), pool="sums", model="", rubric="sums")


def approved(folder: Path, *criteria: dict[str, Any], threshold: float = 60) -> Rubric:
    """The rubric of the agent `sums`, approved as it stands."""
    lines = [f"domain = 'Sums'\nthreshold = {threshold}"]
    for one in criteria or (CHECKED,):
        lines.append("[[criteria]]\ndescription = 'It is right.'")
        told = ((key, value) for key, value in one.items())
        lines += [
            f"{key} = {value!r}" if key != "options" else "options = {answers = 'answers.txt'}" for key, value in told
        ]
    file = folder / "sums.rubric.toml"
    file.write_text("\n".join(lines))
    by = f"\n[approval]\nby = 'Ada'\non = 2026-11-27\nversion = '{read_rubric(file).version}'\n"
    file.write_text("\n".join(lines) + by)
    return read_rubric(file)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "agents"
    made.mkdir()
    (made / "sums.py").write_text(MODULE)
    (made / "answers.txt").write_text("1+1=2 2+2=4 3+3=6")
    approved(made)
    return made


def pair(prompt: str, answer: str, **fields: Any) -> Memory:
    return remembered(
        prompt, answer=answer, pool="sums", **{"agent": "sums", "score": 100, "task_id": prompt, **fields}
    )[0]


@pytest.fixture
def wrong(memory: MemoryClient) -> Memory:
    """Of three answers to what the check knows, the one that it knows to be wrong; nobody knows the fourth."""
    one = pair("3+3", "7")
    memory.restore([pair("1+1", "2"), pair("2+2", "4"), one, pair("9+9", "18")])
    return one


def checked(
    memory: MemoryClient, client: redis.Redis, folder: Path, hide: Hide = "few", agent: str | None = None
) -> Recheck:
    return recheck(
        memory, client, Where("sums", "active", agent), rubrics_of([CARD], folder)["sums"], "eve", hide
    )  # fmt: skip


def test_what_fails_is_hidden_with_the_reason_and_what_nobody_knows_stays(
    memory: MemoryClient, redis_client: redis.Redis, folder: Path, wrong: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "memshare.audit")

    assert checked(memory, redis_client, folder, "none").failed == (wrong.id,)
    assert memory.get(wrong.id) == wrong, "it was a dry run"
    done = checked(memory, redis_client, folder)

    now = memory.get(wrong.id)
    assert (done.checked, done.unknown, done.failed, done.hidden, done.why) == (3, 1, (wrong.id,), (wrong.id,), None)
    assert (now.status, now.score, now.criteria["right"].high) == ("hidden", 0, 0)
    assert now.why_hidden == "checked again by the rubric 'sums', it earns 0.0 where 60.0 are needed"
    assert len(list(memory.every(Where(pool="sums", status="active")))) == 3
    [line] = [one for one in caplog.records if one.name == "memshare.audit"]
    assert line.ids["hidden"] == str(wrong.id)  # type: ignore[attr-defined]


def test_what_was_written_from_it_is_stale_until_a_person_lets_it_be_shown_again(
    memory: MemoryClient, redis_client: redis.Redis, folder: Path, wrong: Memory
) -> None:
    child = pair("3+3 again", "7", parents=(wrong.id,))
    memory.restore([child])
    checked(memory, redis_client, folder)
    assert [(one.memory, one.became) for one in memory.get(child.id).because] == [
        (wrong.id, "found wrong by its check")
    ]

    memory.edit(Edit(id=wrong.id, status="active"))

    assert (memory.get(wrong.id).status, memory.get(wrong.id).why_hidden) == ("active", None)
    assert memory.get(child.id).status == "active"
    assert checked(memory, redis_client, folder).failed == (), "a person has spoken for it"


@pytest.mark.parametrize(("told", "why"), [("1+1=3 2+2=5 3+3=6", "more than half"), ("1+1", "broke at the memory")])
def test_a_broken_check_hides_nothing_and_says_why(
    memory: MemoryClient, redis_client: redis.Redis, folder: Path, wrong: Memory, told: str, why: str
) -> None:
    (folder / "answers.txt").write_text(told)

    done = checked(memory, redis_client, folder)

    assert (done.hidden, why in (done.why or "")) == ((), True)
    assert len(list(memory.every(Where(pool="sums", status="active")))) == 4
    kept = Recheck.model_validate_json(redis_client.hget(RECHECKS, "sums") or "")
    assert kept.why == done.why
    if "half" in why:
        assert len(checked(memory, redis_client, folder, "all").hidden) == 3
    assert memory.get(wrong.id).score in (0, 100)


def test_a_higher_threshold_hides_nothing_and_criteria_of_a_model_keep_their_scores(
    memory: MemoryClient, redis_client: redis.Redis, folder: Path
) -> None:
    rubric = approved(folder, CHECKED | {"points": 50}, STYLE, threshold=95)
    judged = {"right": CriterionScore(low=50, high=50, points=50), "style": CriterionScore(low=40, high=40, points=50)}
    fields = {"score": 90, "criteria": judged, "rubric_version": rubric.version}
    memory.restore(
        [pair("1+1", "2", **fields), pair("2+2", "4"), pair("3+3", "7", **fields), pair("1 + 1", "2", **fields)]
    )

    done = checked(memory, redis_client, folder)

    assert (done.checked, done.unknown) == (2, 2), "of one nobody has judged the style, of one the sum is not known"
    assert [(one.prompt, one.score) for one in map(memory.get, done.failed)] == [("3+3", 40 if done.hidden else 90)]


def test_only_what_is_approved_and_of_the_agent_is_run(
    memory: MemoryClient, redis_client: redis.Redis, folder: Path, wrong: Memory
) -> None:
    assert checked(memory, redis_client, folder, agent="another").checked == 0
    assert not redis_client.exists(RECHECKS), "a part of a pool says nothing of the whole"
    file = folder / "sums.rubric.toml"
    file.write_text(file.read_text().replace("It is right", "It is wrong"))

    assert rubrics_of([CARD], folder) == {}
    assert memory.get(wrong.id).status == "active"


def test_everybodys_own_pool_is_checked_as_well(folder: Path) -> None:
    card = AgentCard(name="sums", kinds=(), pool="mine/{submitter}", pools=("mine/{submitter}", "team"), model="",
                     rubric="sums")  # fmt: skip

    assert rubrics_of([card], folder, lambda: ["mine/ada", "mine/bob", "other/ada", "team"]).keys() == {
        "mine/ada", "mine/bob", "team",
    }  # fmt: skip


def test_files_that_a_check_names_are_watched(folder: Path) -> None:
    rubrics = rubrics_of([CARD], folder)["sums"]
    seen = {watched(rubrics)}
    for name in ("sums.py", "answers.txt"):
        text = (folder / name).read_text()
        (folder / name).write_text(text + "\n")
        seen.add(watched(rubrics))
        (folder / name).write_text(text)
    (folder / "another.txt").write_text("")

    assert (len(seen), watched(rubrics) in seen) == (3, True)


def test_a_scorer_checks_by_itself_when_a_file_has_changed_and_once_a_week(
    settings: Settings, memory: MemoryClient, redis_client: redis.Redis, folder: Path, wrong: Memory,
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    own = settings.model_copy(update={"redis_url": settings.redis, "data": tmp_path, "agents_dir": folder})
    announce(redis_client, Presence(node="agents", pid=1, incarnation="1", queues=("sums",), agents=(CARD,)))

    def left() -> int:
        """How many are shown after a pulse, long after the one before."""
        redis_client.delete(f"{BUSY}sums")
        pulse(own, ["scorer"])
        return len(list(memory.every(Where(pool="sums", status="active"))))

    assert [left(), left()] == [4, 4], "a pool that is new to it waits"
    (folder / "answers.txt").write_text("1+1=2 2+2=4 3+3=6 9+9=18")
    os.utime(folder / "answers.txt", (1, 1))
    assert left() == 3
    memory.restore([pair("1+1", "11")])
    assert left() == 4
    monkeypatch.setattr(rechecks, "WEEK", 0)
    assert left() == 3
    assert memory.get(wrong.id).status == "hidden"
