"""A rubric from the description of a domain to its use: drafted by a model, reviewed and approved, graded by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memshare_broker.settings import Settings
from memshare_scorer.rubric import read_rubric
from tests.support import prepared_python
from tests.support.chat_script import Answer
from tests.support.chat_server import ChatServer, serving
from tests.support.deployment import deployed, empty

DOMAIN = "Short recipes for two"
AGENT = 'description = "Cooks."\npool = "recipe"\nrubric = "recipe"\ninstructions = "Write a short recipe."\n'
PROPOSALS = [{"Taste": 60, "Plain steps": 40}, {"Taste": 50, "Right amounts": 50}]


def model(body: dict[str, Any]) -> Answer:
    """Proposes two rubrics in turn, chooses and words three criteria, and gives every pair 90 % of the points."""
    if "response_format" not in body:
        return Answer(text="Boil two eggs.")
    asked = json.loads(body["messages"][-1]["content"])
    if "criterion" in asked:
        bands = {"full": "Delicious.", "most": "Good.", "part": "Edible.", "none": "Burnt."}
        return Answer(text=json.dumps({"description": f"How good: {asked['criterion']}.", "bands": bands}))
    if "drafts" in asked:
        merged = {"taste": 40, "Plain steps": 20, "Right amounts": 20}  # of 80: made to sum to 100
        taken = [
            {"taken_from": [2, 1], "why": "[b]Both[/] have it.", "name": name, "points": points}
            for name, points in merged.items()
        ]
        judged = [{"draft": 1, "keeps": "It tastes.", "lacks": "It is vague."}]
        return Answer(text=json.dumps({"judgements": judged, "criteria": taken}))
    if "domain" in asked:
        return Answer(text=json.dumps({"criteria": criteria(PROPOSALS[drafts(asked["domain"]) % 2])}))
    ranges = {name: dict.fromkeys(("low", "high"), 0.9 * points) for name, (points, _) in asked["criteria"].items()}
    return Answer(text=json.dumps(ranges))


def criteria(points: dict[str, int]) -> list[dict[str, Any]]:
    return [{"name": name, "points": some, "description": f"How good: {name}."} for name, some in points.items()]


def drafts(domain: str, _asked: list[str] = []) -> int:  # noqa: B006
    """How many drafts were asked for before."""
    _asked.append(domain)
    return len(_asked) - 1


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "recipe.toml").write_text(AGENT)
    return folder


def memshare(chat: ChatServer, settings: Settings, *words: str) -> str:
    """What a command prints."""
    environment = prepared_python.environment() | {
        "MEMSHARE_DATA": str(settings.data),
        "MEMSHARE_MODEL": str(settings.model),
        "MEMSHARE_AGENTS_DIR": str(settings.agents_dir),
        "OPENAI_BASE_URL": chat.url,
        "OPENAI_API_KEY": "test",
    }
    done = prepared_python.run(words, environment, 120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_drafted_rubric_grades_nothing_until_a_person_has_reviewed_and_approved_it(
    redis_folder: Path, agents: Path, tmp_path: Path
) -> None:
    settings = Settings(data=redis_folder, model="openai:scripted", agents_dir=agents)
    file = agents / "recipe.rubric.toml"
    empty(redis_folder)

    with serving(model) as chat:
        # 1. The model drafts two rubrics and merges them.
        drafted = json.loads(
            memshare(chat, settings, "rubric", "draft", DOMAIN, "--sets", "2", "--out", str(file), "--json")
        )
        assert drafted["approved"] is False
        points = {one["name"]: one["points"] for one in drafted["criteria"]}
        assert points == {"taste": 50, "plain_steps": 25, "right_amounts": 25}
        assert len(chat.requests) == 2 + 1 + 3
        given = json.loads(chat.requests[-1]["messages"][-1]["content"])["drafts"]
        assert [[one["name"] for one in each["criteria"]] for each in given] == [
            ["taste", "plain_steps"],
            ["taste", "right_amounts"],
        ]

        queues = [("recipe", "scorer", "memory")]
        with deployed(settings, chat, tmp_path, queues, MEMSHARE_AGENTS_DIR=str(agents)) as deployment:
            # 2. Nothing is graded by it while nobody has approved it.
            task = deployment.client.submit("recipe", "Eggs for two")
            journey = deployment.settled(task.id)
            assert journey.answer == "Boil two eggs."
            assert journey.dead is not None
            assert (journey.dead.reason, journey.score) == ("rubric", None)
            assert f"memshare rubric approve {file}" in journey.dead.error

            # 3. A person reviews it, changes a criterion, and approves what they have read.
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace("How good: taste.", "Salt and heat are right."), encoding="utf-8")
            seen = memshare(chat, settings, "rubric", "approve", str(file), "--by", "Eve", "--yes")
            for said in ("Draft 2", "Lacking: It is vague.", "1, 2", "[b]Both[/] have it.", "30–49: Good.", "edited"):
                assert said in " ".join(seen.split())
            approved = json.loads(
                memshare(chat, settings, "rubric", "approve", str(file), "--by", "Ada", "--yes", "--json")
            )
            assert [len(one["criteria"]) for one in approved["drafting"]["drafts"]] == [2, 2]
            assert approved["version"] == read_rubric(file).version != drafted["version"]

            # 4. The worker that has run all along grades by it, also the task that was given up.
            memshare(chat, settings, "dead", "retry", journey.dead.entry.id)
            for one in (task.id, deployment.client.submit("recipe", "Soup for two").id):
                graded = deployment.settled(one)
                assert graded.score is not None
                assert (graded.score.rubric, graded.score.rubric_version) == ("recipe", approved["version"])
                assert graded.score.total == pytest.approx(90)
                assert set(graded.score.criteria) == set(points)
            assert "Salt and heat are right." in chat.requests[-1]["messages"][-1]["content"]
