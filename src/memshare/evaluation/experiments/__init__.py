"""The experiments by name, in the order in which a report shows them."""

from memshare.evaluation.experiments.growth import BIAS, GROWTH, GROWTH_FROM_20, MEMORIES, RETRIEVER
from memshare.evaluation.experiments.knowledge import COMPLEX, CONTRADICTIONS, CREDIBILITY, FACTS, KNOWLEDGE
from memshare.evaluation.experiments.pools import BALANCE, HETEROLOGOUS, POOLS

EXPERIMENTS = {
    one.name: one
    for one in (
        MEMORIES,
        HETEROLOGOUS,
        BALANCE,
        GROWTH,
        GROWTH_FROM_20,
        BIAS,
        POOLS,
        RETRIEVER,
        CREDIBILITY,
        KNOWLEDGE,
        COMPLEX,
        FACTS,
        CONTRADICTIONS,
    )
}
