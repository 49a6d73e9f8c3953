"""`memshare evaluate` as a process: real queues, and a chat server on loopback in place of the models."""

from __future__ import annotations

import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memshare.broker.settings import Settings
from memshare.evaluation.expect import expect
from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.request import request_of
from memshare.local.supervisor import processors
from tests.support.chat_script import Answer
from tests.support.chat_server import ChatServer, serving
from tests.support.schema_value import schema_value

pytestmark = pytest.mark.timeout(600)

WITHIN = 240  # seconds
CONCURRENCY = 4
PAIRS = [
    {
        "agent": "logic",
        "kind": "riddle",
        "prompt": f"What has {number} legs and no {thing}?",
        "answer": f"A {thing}-{number}",
    }
    for number, thing in enumerate(
        ("chair", "shadow", "river", "bell", "road", "clock", "candle", "needle", "map", "egg")
    )
]
ANSWERS = [{"agent": "poem", "kind": "limerick", "answer": f"A limerick about {name}."} for name in "abcde"]


def number_of(text: str) -> float:
    """From 0 to 1, the same for the same text."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 16**8


def consistent(body: dict[str, Any]) -> Answer:
    """The same reply to the same request: a question, a grade or labels by the texts, or an answer that cites the first
    memory shown."""
    last = body["messages"][-1]["content"]
    wanted = body.get("response_format") or {}
    if wanted.get("type") != "json_schema":
        shown = [turn["content"] for turn in body["messages"] if turn["role"] == "assistant"]
        return Answer(f"{last} is like {shown[0] if shown else 'nothing'}", delay=0.02)
    value = schema_value(wanted["json_schema"]["schema"])
    if "question" in value:
        value["question"] = f"Which limerick is number {number_of(last):.6f}?"
    elif "criteria" not in json.loads(last):  # labels, comparisons, and the steps of the engine
        value |= {name: round(100 * number_of(name + last)) for name, one in value.items() if type(one) is int}
    else:
        share = number_of(json.loads(last)["answer"])
        properties = wanted["json_schema"]["schema"]["properties"]
        value = {name: {"low": 0, "high": 0} for name in properties} | {
            name: {"low": share, "high": share} for name in list(properties)[:3]
        }
    return Answer(json.dumps(value), delay=0.02)


def command(
    chat: ChatServer, folder: Path, out: str, model: str, *more: str, what: str = "memories"
) -> subprocess.Popen[str]:
    data = folder / "data.jsonl"
    data.write_text("\n".join(json.dumps(line) for line in PAIRS + ANSWERS), encoding="utf-8")
    provider = model.partition(":")[0].upper()
    environment = {
        **os.environ,
        "MEMSHARE_MODEL": model,
        "MEMSHARE_CONCURRENCY": str(CONCURRENCY),
        # What a killed worker had taken is missed after that.
        "MEMSHARE_LEASE": "20",
        f"{provider}_BASE_URL": chat.url,
        f"{provider}_API_KEY": "test",
    }
    arguments = ["evaluate", what, "--data", str(data), "--out", str(folder / out), "--yes", "--json", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "memshare", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until(true: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + WITHIN
    while not true():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, "it did not get so far"
        time.sleep(0.02)


def asked(chat: ChatServer) -> Counter[str]:
    """How often each request was made; grades and answers of the same text may come in several conditions."""
    return Counter(json.dumps(body, sort_keys=True) for body in chat.requests)


def test_a_run_that_was_broken_off_twice_comes_to_the_same_table_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    model = "openai:scripted"
    with serving(consistent) as chat:
        straight = command(chat, tmp_path, "straight", model)
        found, said = straight.communicate(timeout=WITHIN)
        assert straight.returncode == 0, said
        wanted = asked(chat)
    assert json.loads(found)["note"] == ""

    with serving(consistent) as chat:
        first = command(chat, tmp_path, "broken", model)
        wait_until(lambda: len(chat.requests) > 20, first)
        first.send_signal(signal.SIGINT)
        _, said = first.communicate(timeout=WITHIN)
        assert first.returncode == 130, said
        assert "goes on from here" in said
        assert not asked(chat) - wanted, "ended gently, it had asked for nothing twice"

        second = command(chat, tmp_path, "broken", model)
        already = len(chat.requests)
        wait_until(lambda: len(chat.requests) > already + 20, second)
        second.kill()
        second.communicate(timeout=WITHIN)

        third = command(chat, tmp_path, "broken", model)
        again, said = third.communicate(timeout=WITHIN)
        assert third.returncode == 0, said
        twice = asked(chat) - wanted
        assert not wanted - asked(chat)

    # What was under way when they were killed is the most that can be asked for again: agents, scorer and trainer ask.
    assert sum(twice.values()) <= CONCURRENCY * (processors() + 2)
    assert json.loads(again) == json.loads(found)
    for name in ("table.md", "chart.svg"):
        assert (tmp_path / "broken/memories" / name).read_text() == (tmp_path / "straight/memories" / name).read_text()


def test_it_runs_on_mistrals_client_too_and_shows_every_item(tmp_path: Path) -> None:
    with serving(consistent) as chat:
        process = command(chat, tmp_path, "out", "mistral:scripted", "--items", "5")
        found, said = process.communicate(timeout=WITHIN)
        assert process.returncode == 0, said
        calls = len(chat.requests)

    folder = tmp_path / "out" / "memories"
    result, run = json.loads(found), json.loads((folder / "run.json").read_text())
    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    assert result["models"] == ["mistral:scripted"]
    assert run["calls"] == {"mistral:scripted": calls}
    # Five riddles and five limericks: one seed, two queries and two for the test, of each.
    assert result["parts"] == {"seeds": 2, "queries": 4, "test": 4}
    assert Counter(item["condition"] for item in items) == {f"{k} memor{'y' if k == 1 else 'ies'}": 4 for k in range(4)}
    assert {len(item["shown"]) for item in items if item["condition"] == "0 memories"} == {0}
    # The server cites the first example that it was shown, which is the least similar one: the texts are those shown.
    with_memories = [item for item in items if item["shown"]]
    assert with_memories
    assert all(item["answer"].endswith(f" is like {item['memories'][-1][1]}") for item in with_memories)
    by_hand = sum(item["score"] for item in items if item["condition"] == "2 memories") / 4
    [row] = [row for row in result["rows"] if (row["condition"], row["kind"]) == ("2 memories", "all")]
    assert row["score"]["mean"] == pytest.approx(by_hand)


def test_own_and_foreign_memories_are_compared_and_balanced_where_two_models_write(tmp_path: Path) -> None:
    with serving(consistent) as chat:
        models = ("openai:one", "openai:two")
        process = command(chat, tmp_path, "out", models[0], "--models", ",".join(models), what="balance")
        found, said = process.communicate(timeout=WITHIN)
        assert process.returncode == 0, said

    result = json.loads(found)
    there = {(row["condition"], row["model"]) for row in result["rows"]}
    conditions = ("0 memories", "own only", "foreign only", "balanced", "mixed")
    assert there == {(condition, model) for condition in conditions for model in models}
    told = [note for note in result["notes"] if "balanced: ranks of own memories were moved by" in note]
    assert [note.partition(",")[0] for note in told] == list(models)
    assert all("-mixed-" in note and "%" in note for note in told)


def test_a_folder_with_another_run_is_not_touched(tmp_path: Path) -> None:
    with serving(consistent) as chat:
        done = command(chat, tmp_path, "out", "openai:scripted", "--items", "5")
        _, said = done.communicate(timeout=WITHIN)
        assert done.returncode == 0, said
        before = len(chat.requests)

        other = command(chat, tmp_path, "out", "openai:scripted", "--items", "5", "--seed", "8")
        _, said = other.communicate(timeout=WITHIN)
        finished = command(chat, tmp_path, "out", "openai:scripted", "--items", "5")
        found, _ = finished.communicate(timeout=WITHIN)

        assert (other.returncode, len(chat.requests)) == (2, before)
    assert "Give another --out" in said
    assert json.loads(found)["experiment"] == "memories"


def grumpy(body: dict[str, Any]) -> Answer:
    """The same, but no reply fits at once, so that each question with a form is asked twice; and it tells the
    probabilities of its tokens, which makes a call of each label."""
    if body.get("logprobs"):
        share = 0.01 + 0.98 * number_of(body["messages"][-1]["content"])
        return Answer("Yes", logprobs={"Yes": math.log(share), "No": math.log(1 - share)})
    if (body.get("response_format") or {}).get("type") != "json_schema":
        return consistent(body)
    if "does not fit the schema" not in body["messages"][-1]["content"]:
        return Answer("{}")
    return consistent(body | {"messages": body["messages"][:-2]})


def test_all_experiments_end_within_the_calls_that_were_announced_also_where_no_reply_fits_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSHARE_TRIES", "1")  # else what is announced is six times as much
    monkeypatch.setenv("MEMSHARE_LABELS", "logprobs")
    with serving(grumpy) as chat:
        model, judge = "openai:scripted", "openai:judge"
        process = command(chat, tmp_path, "out", model, "--items", "5", "--judge", judge, what="all")
        found, said = process.communicate(timeout=2 * WITHIN)
        assert process.returncode == 0, said
        made = Counter(f"openai:{body['model']}" for body in chat.requests)

    results = [json.loads(line) for line in found.splitlines()]
    assert [one["experiment"] for one in results] == list(EXPERIMENTS)
    assert all(row["judge"] for one in results for row in one["rows"])
    settings = Settings(model=model, tries=1, labels="logprobs")
    requests = [
        request_of(
            one, [] if one.bundled else [tmp_path / "data.jsonl"], settings, 7, 5,
            models=(model,), out=tmp_path / "none", judge=judge,
        )
        for one in EXPERIMENTS.values()
    ]  # fmt: skip
    expected = expect(requests, settings)
    for name, one in zip(EXPERIMENTS, expected, strict=True):
        calls = json.loads((tmp_path / "out" / name / "run.json").read_text())["calls"]
        assert all(calls[each] <= one.most[each] for each in calls), (name, calls, one.most)
    assert made == sum((Counter(json.loads((tmp_path / "out" / name / "run.json").read_text())["calls"])
                        for name in EXPERIMENTS), Counter())  # fmt: skip
    # What is announced as usual is too little here: the bound is what counts.
    assert made[model] > sum(one.calls[model] for one in expected)
