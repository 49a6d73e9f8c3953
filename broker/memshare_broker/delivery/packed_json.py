"""JSON as it lies in the journeys: deflated where that is shorter. What was written plain is read as well."""

from __future__ import annotations

import json
import zlib
from typing import Any

PACKED = b"\x01"  # before what is deflated with these words; JSON never begins with it
SHORTEST = 100  # characters; what is shorter gains nothing
LEVEL, RAW, MEMORY = 9, -15, 6  # best compression; neither header nor checksum; a table that is quick to make

# What records are full of, the most frequent last: deflate finds it there, and need not write it. Never change it: what
# lies in Redis was packed with it. New words take another first byte.
_WORDS = (
    b'"retriever_version": "unverified"traceback": "Traceback (most recent call last):\\n  File \\"", line '
    b'"reason": "died": "tries": "kind": "gave-up", "error": "entry": {"candidates": '
    b'"positives": ["negatives": ["accuracy": "version": "labels": "probability": '
    b'"outcome": "published""held out""stored", "reason": "duplicate""replaced""rejected""not kept""memory_id": "'
    b'{"steps": [{"number": 1, "parent": null, "depth": 0, "operator": "arguments": "", "read": [], "said": "", '
    b'"knowledge": [], "verified": true, "model": null, "usage": {"prompt_tokens": 0, "completion_tokens": 0}, '
    b'"seconds": 0.0}, '
    b'{"total": 100.0, "threshold": 80.0, "accepted": true, "criteria": {"": {"low": 0.0, "high": 10.0, '
    b'"points": 20.0}, "rubric": "poem", "rubric_version": "", "model": "openai:", "usage": {"prompt_tokens": 0, '
    b'"completion_tokens": '
    b'{"id":"","task":"agents.poem","queue":"poem","body":{"prompt":"","kind":"","memories":3,"documents":[],'
    b'"submitter":"anonymous","remember":true,"not_shown":[]},"journey":"","stage":"answer","priority":3,"begins":true,'
    b'"has_result":true,"decides":true}'
    b'{"task_id": "", "agent": "poem", "kind": "limerick", "answer": "", "model": "offline", "memories": '
    b'[{"id": "", "similarity": 0.1, "share": null}, {"id": "", "similarity": 0.1, "share": null}], '
    b'"retriever_version": 0, "usage": {"prompt_tokens": 0, "completion_tokens": 0}, "seconds": 0.001, "steps": []}'
)


def pack(text: str) -> bytes:
    """A JSON text as it is kept."""
    written = text.encode(errors="surrogatepass")  # as JSON is read back
    if len(written) < SHORTEST:
        return written
    deflate = zlib.compressobj(LEVEL, zlib.DEFLATED, RAW, MEMORY, zdict=_WORDS)
    packed = PACKED + deflate.compress(written) + deflate.flush()
    return packed if len(packed) < len(written) else written


def unpack(kept: bytes) -> Any:
    """The value of what `pack` made, or of plain JSON."""
    return json.loads(plain(kept))


def plain(kept: bytes) -> bytes:
    """The same as JSON."""
    if not kept.startswith(PACKED):
        return kept
    inflate = zlib.decompressobj(RAW, zdict=_WORDS)
    return inflate.decompress(kept[len(PACKED) :]) + inflate.flush()
