"""What is said beside an answer that is a memory's, word for word, as there is no model."""

from __future__ import annotations

from memshare.broker.wire.messages import Quoted
from memshare.memory_ids import short_id


def whose_answer(quoted: Quoted) -> str:
    """The sentence that names the memory and its submitter."""
    return (
        f"Offline, without a model: this is the answer of memory {short_id(quoted.id)}, by {quoted.submitter}, as it "
        "stands."
    )
