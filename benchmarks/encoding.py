"""How long a query takes to become a vector, alone and in company; `benchmarks.recall` reports it.

Beside it stands what this processor could reach: one matrix product, in one thread, of as many floating-point
operations as the encoder's layers take for the prompt of median length, with weights of the same size.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

from benchmarks.report import milliseconds, percentile
from memshare.demo.play import read
from memshare_memory.encoders.encoder import Encoder, bundled_folder

THREADS, ROUNDS = 32, 20
ALONE, WARM_UP = 300, 20


def encodes(encoder: Encoder) -> dict[str, Any]:
    """One query alone, every query while 32 threads ask at once, and the limit; the prompts are those of the demo."""
    prompts = [task["prompt"] for task in read("tasks.jsonl") if task.get("prompt")]
    alone = _one_after_another(encoder, prompts, first=0, count=WARM_UP + ALONE)[WARM_UP:]
    with ThreadPoolExecutor(THREADS) as threads:
        started = time.perf_counter()
        asked = [threads.submit(_one_after_another, encoder, prompts, first, ROUNDS) for first in range(THREADS)]
        shared = [taken for thread in asked for taken in thread.result()]
        seconds = time.perf_counter() - started
    limit = _limit(prompts)
    return {
        "encode_p50_ms": percentile(alone, 50),
        "encode_limit_ms": limit,
        "encode_per_limit": round(percentile(alone, 50) / limit, 2),
        "encode_p99_ms": percentile(alone, 99),
        f"encode_{THREADS}_threads_wait_p50_ms": percentile(shared, 50),
        f"encode_{THREADS}_threads_wait_p99_ms": percentile(shared, 99),
        f"encode_{THREADS}_threads_ms_per_query": round(seconds * 1000 / len(shared), 3),
    }


def _one_after_another(encoder: Encoder, prompts: Sequence[str], first: int, count: int) -> list[float]:
    chosen = (prompts[(first + number) % len(prompts)] for number in range(count))
    return [milliseconds(encoder.encode, [prompt]) for prompt in chosen]


def _limit(prompts: Sequence[str]) -> float:
    """Median milliseconds of the product, of shape (tokens, hidden) x (hidden, columns)."""
    folder = bundled_folder()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokens = int(np.median([len(tokenizer.encode(prompt)) for prompt in prompts]))
    known = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    layers, hidden, inner = (known[name] for name in ("num_hidden_layers", "hidden_size", "intermediate_size"))
    # Four square matrices and two of the feed-forward part; then attention, which compares every token with every one.
    operations = layers * (2 * tokens * (4 * hidden**2 + 2 * hidden * inner) + 4 * tokens**2 * hidden)
    columns = operations // (2 * tokens * hidden)
    left = np.random.default_rng(0).normal(size=(tokens, hidden)).astype(np.float32)
    product = _product(hidden, columns)
    taken = [milliseconds(product.run, None, {"left": left}) for _ in range(WARM_UP + ALONE)]
    return percentile(taken[WARM_UP:], 50)


def _product(rows: int, columns: int) -> Any:
    """A session of ONNX Runtime that multiplies with one constant matrix, in the thread that asks."""
    weights = np.random.default_rng(1).normal(size=(rows, columns)).astype(np.float32)
    given = helper.make_tensor_value_info("left", TensorProto.FLOAT, [None, rows])
    made = helper.make_tensor_value_info("product", TensorProto.FLOAT, [None, columns])
    node = helper.make_node("MatMul", ["left", "right"], ["product"])
    graph = helper.make_graph([node], "product", [given], [made], [numpy_helper.from_array(weights, "right")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
