"""`memshare evaluate all`, where no reply of the model fits at once."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from memshare.evaluation.experiments import EXPERIMENTS
from memshare.evaluation.rehearsal import rehearse
from memshare.evaluation.request import request_of
from memshare_broker.settings import Settings
from tests.support.chat_script import Answer
from tests.support.chat_server import serving
from tests.support.evaluate_process import WITHIN, command, consistent, number_of

pytestmark = pytest.mark.timeout(600)


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
    tmp_path: Path,
) -> None:
    # With more tries, what is announced is six times as much.
    more = {"MEMSHARE_TRIES": "1", "MEMSHARE_LABELS": "logprobs"}
    with serving(grumpy) as chat:
        model, judge = "openai:scripted", "openai:judge"
        process = command(chat, tmp_path, "out", model, "--items", "5", "--judge", judge, what="all", **more)
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
    rehearsals = rehearse(requests, settings)
    for name, one in zip(EXPERIMENTS, rehearsals, strict=True):
        calls = json.loads((tmp_path / "out" / name / "run.json").read_text())["calls"]
        assert all(calls[each] <= one.most[each] for each in calls), (name, calls, one.most)
    assert made == sum((Counter(json.loads((tmp_path / "out" / name / "run.json").read_text())["calls"])
                        for name in EXPERIMENTS), Counter())  # fmt: skip
    assert made[model] > sum(one.tasks for one in rehearsals)
