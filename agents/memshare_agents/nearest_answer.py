"""Where no model is set: the nearest memory's answer, word for word, and whose it is."""

from __future__ import annotations

from memshare_agents.answered import Answered
from memshare_broker.settings import OFFLINE
from memshare_broker.wire.messages import Quoted, Usage
from memshare_llm.no_model import NONE_SET, NoModelSet
from memshare_memory.door.messages import Recollection


def nearest_answer(recalled: Recollection, journey: str, pool: str) -> Answered:
    """The answer of the most similar memory; raises `NoModelSet` where none was found."""
    nearest = recalled.nearest
    if nearest is None:
        raise NoModelSet(
            f"{NONE_SET} No memory of pool {pool!r} could be shown in its place. Once a model is set and the workers "
            f"are started again, `memshare dead retry {journey}` has this task answered."
        )
    return Answered(
        text=nearest.memory.answer,
        model=OFFLINE,
        shown=(nearest.shown,),
        retriever_version=recalled.retriever_version,
        usage=Usage(),
        quoted=Quoted(id=nearest.memory.id, submitter=nearest.memory.submitter, similarity=nearest.similarity),
    )
