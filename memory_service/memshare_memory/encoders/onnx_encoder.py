"""The encoder on a processor: ONNX Runtime and tokenizers alone, without torch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memshare_memory.encoders.encoder import UNLIMITED
from memshare_memory.encoders.export_folder import GRAPH, TOKENIZER, Export

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

# Padded tokens of one batch. More are no faster: 512 of them, with what is computed from them, fit into a cache.
LARGEST_BATCH = 512
SMALLEST_BATCH = 128  # and fewer pay more for reading the weights
MOST_THREADS = 4
TOKENIZED_AT_ONCE = 1_024


class OnnxEncoder:
    """An exported model. Each batch is one thread's work, and the batches of one call are shared among a few.

    Measured: a second thread within a batch makes one short text 1.4 times as fast for 1.3 times the CPU time or more.
    """

    def __init__(self, export: Export, name: str) -> None:
        self.name = name
        self.dimension = export.settings.dimension
        self._prompt = export.settings.prompt
        self._tokenizer = _open_tokenizer(export.folder / TOKENIZER)
        self.window = int((self._tokenizer.truncation or {}).get("max_length", UNLIMITED))
        """Tokens that it reads of a text."""
        self._padding: dict[str, Any] = self._tokenizer.padding or {}
        self._tokenizer.no_padding()  # here it is done by batch
        self._session = _open_session(export.folder / GRAPH)
        self._inputs = {tensor.name for tensor in self._session.get_inputs()}
        self._threads = min(MOST_THREADS, max(1, processors() // 2))  # the others are for what asks

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), TOKENIZED_AT_ONCE):
            some = texts[start : start + TOKENIZED_AT_ONCE]
            self._encode(some, vectors[start : start + len(some)])
        return vectors

    def _encode(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        tokenized = self._tokenizer.encode_batch_fast([self._prompt + text for text in texts])

        def run(batch: list[int]) -> None:
            vectors[batch] = self._run([tokenized[at] for at in batch])

        all_batches = list(batches([len(text) for text in tokenized], self._threads))
        if self._threads == 1 or len(all_batches) == 1:
            for batch in all_batches:
                run(batch)
            return
        # Threads of this call alone: a short text of somebody else never waits for a turn behind an import.
        with ThreadPoolExecutor(self._threads) as threads:
            list(threads.map(run, all_batches))

    def _run(self, tokenized: Sequence[Encoding]) -> NDArray[np.float32]:
        width = max(1, *(len(text) for text in tokenized))
        shape = (len(tokenized), width)
        ids = np.full(shape, self._padding["pad_id"], dtype=np.int64)
        types = np.full(shape, self._padding["pad_type_id"], dtype=np.int64)
        mask = np.zeros(shape, dtype=np.int64)
        for row, text in enumerate(tokenized):
            length = len(text)
            place = slice(width - length, width) if self._padding["direction"] == "left" else slice(length)
            ids[row, place], types[row, place], mask[row, place] = text.ids, text.type_ids, 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        [vectors] = self._session.run(None, {name: given[name] for name in self._inputs})
        return np.asarray(vectors, dtype=np.float32)


def batches(lengths: Sequence[int], threads: int) -> Iterator[list[int]]:
    """Places of texts of so many tokens, in batches that waste little on padding; the longest texts come first.

    A few texts make as many batches as there are threads, unless those would be small.
    """
    most = min(LARGEST_BATCH, max(SMALLEST_BATCH, -(-sum(lengths) // threads)))
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if batch and lengths[batch[0]] * (len(batch) + 1) > most:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _open_session(file: Path) -> Any:
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # it would keep an id of this device, and look a host up
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # it keeps memory for every shape that it has seen
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def _open_tokenizer(file: Path) -> Tokenizer:
    # Its threads make nothing faster that a forward pass follows, and it warns of them after every fork.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(file))


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
