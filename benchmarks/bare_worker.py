"""A Celery worker as anybody writes it, with the OpenAI client: what ours is measured beside.

`celery -A benchmarks.bare_worker worker` serves; `python -m benchmarks.bare_worker TASK` submits, waits and prints.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import cache
from typing import Any

import openai
from celery import Celery

QUEUE = "bare"

app = Celery("bare", broker=os.environ.get("BARE_BROKER"), backend=os.environ.get("BARE_BROKER"))
app.conf.task_default_queue = QUEUE


@cache
def _client() -> openai.OpenAI:
    return openai.OpenAI(max_retries=0, timeout=60)


@app.task(name="bare.answer")
def answer(prompt: str) -> dict[str, Any]:
    """The model's answer, and how long it took."""
    started = time.monotonic()
    reply = _client().chat.completions.create(model="loopback", messages=[{"role": "user", "content": prompt}])
    return {"answer": reply.choices[0].message.content, "seconds": time.monotonic() - started}


if __name__ == "__main__":
    print(json.dumps(app.send_task("bare.answer", [sys.argv[1]]).get(timeout=60)))
