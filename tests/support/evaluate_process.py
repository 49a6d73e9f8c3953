"""`memshare evaluate` as a process for tests, and a chat server's script that answers all that it asks."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from memshare.operate.supervisor import processors
from tests.support import prepared_python
from tests.support.chat_script import Answer
from tests.support.chat_server import ChatServer
from tests.support.deployment import patient
from tests.support.grades import judged
from tests.support.schema_value import schema_value

WITHIN = 240  # seconds
CONCURRENCY = 4
PROCESSORS = 1 if hasattr(os, "sched_setaffinity") else processors()  # each has a process of agents, which takes long
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
    value = judged(body) or schema_value(wanted["json_schema"]["schema"])
    if "question" in value:
        value["question"] = f"Which limerick is number {number_of(last):.6f}?"
    elif "tasks" in json.loads(last):
        for labels in (of for name, of in value.items() if name != "rivals"):
            labels |= {text: round(100 * number_of(f"{text}{last}")) for text in labels}
    elif "criteria" not in json.loads(last):  # comparisons, and the steps of the engine
        value |= {name: round(100 * number_of(name + last)) for name, one in value.items() if type(one) is int}
    else:
        share = number_of(json.loads(last)["answer"])
        properties = wanted["json_schema"]["schema"]["properties"]
        value = {name: {"low": 0, "high": 0} for name in properties} | {
            name: {"low": share, "high": share} for name in list(properties)[:3]
        }
    return Answer(json.dumps(value), delay=0.02)


def data_in(folder: Path) -> Path:
    """Write the file of what is asked."""
    file = folder / "data.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in PAIRS + ANSWERS), encoding="utf-8")
    return file


def command(
    chat: ChatServer, folder: Path, out: str, model: str, *more: str, what: str = "memories", **settings: str
) -> subprocess.Popen[str]:
    provider = model.partition(":")[0].upper()
    environment = {
        **prepared_python.environment(),
        **settings,
        "MEMSHARE_MODEL": model,
        "MEMSHARE_CONCURRENCY": str(CONCURRENCY),
        # What a killed worker had taken is missed after that.
        "MEMSHARE_LEASE": "20",
        f"{provider}_BASE_URL": chat.url,
        f"{provider}_API_KEY": "test",
    }
    arguments = ["evaluate", what, "--data", str(data_in(folder)), "--out", str(folder / out), "--yes", "--json", *more]
    process = subprocess.Popen(
        [sys.executable, "-m", "memshare", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(process.pid, random.sample(sorted(os.sched_getaffinity(0)), PROCESSORS))
    return process


def ended_with(process: subprocess.Popen[str], within: float) -> tuple[str, str]:
    """The output of a process once it has ended; one that does not in time is killed with all that it began."""
    try:
        return process.communicate(timeout=patient(within))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
