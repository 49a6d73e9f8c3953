"""How long a query takes to become a vector, alone and in company; `benchmarks.recall` reports it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.report import milliseconds, percentile
from memshare.demo.play import read
from memshare.memory_service.encoders.encoder import Encoder

THREADS, ROUNDS = 32, 20
ALONE, WARM_UP = 300, 20


def encodes(encoder: Encoder) -> dict[str, Any]:
    """One query alone, and every query while 32 threads ask at once; the prompts are those of the demo."""
    prompts = [task["prompt"] for task in read("tasks.jsonl") if task.get("prompt")]
    alone = _one_after_another(encoder, prompts, first=0, count=WARM_UP + ALONE)[WARM_UP:]
    with ThreadPoolExecutor(THREADS) as threads:
        started = time.perf_counter()
        asked = [threads.submit(_one_after_another, encoder, prompts, first, ROUNDS) for first in range(THREADS)]
        shared = [taken for thread in asked for taken in thread.result()]
        seconds = time.perf_counter() - started
    return {
        "encode_p50_ms": percentile(alone, 50),
        "encode_p99_ms": percentile(alone, 99),
        f"encode_{THREADS}_threads_wait_p50_ms": percentile(shared, 50),
        f"encode_{THREADS}_threads_wait_p99_ms": percentile(shared, 99),
        f"encode_{THREADS}_threads_ms_per_query": round(seconds * 1000 / len(shared), 3),
    }


def _one_after_another(encoder: Encoder, prompts: Sequence[str], first: int, count: int) -> list[float]:
    chosen = (prompts[(first + number) % len(prompts)] for number in range(count))
    return [milliseconds(encoder.encode, [prompt]) for prompt in chosen]
