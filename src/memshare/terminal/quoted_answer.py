"""What is said beside an answer that is a memory's, word for word, as there is no model."""

from __future__ import annotations

from memshare.terminal.ids import short_id
from memshare_broker.wire.messages import Quoted


def whose_answer(quoted: Quoted) -> str:
    """The sentence that names the memory and its submitter."""
    return (
        f"No model is set. This is the answer of the nearest memory, word for word: {short_id(quoted.id)} by "
        f"{quoted.submitter} (similarity {quoted.similarity:.2f})."
    )
