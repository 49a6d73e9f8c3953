"""The experiments by name, in the order in which a report shows them."""

from memshare.evaluation.experiments.bias import BIAS
from memshare.evaluation.experiments.complex import COMPLEX
from memshare.evaluation.experiments.contradictions import CONTRADICTIONS, CREDIBILITY
from memshare.evaluation.experiments.growth import GROWTH, GROWTH_FROM_20, MEMORIES
from memshare.evaluation.experiments.heterologous import BALANCE, HETEROLOGOUS
from memshare.evaluation.experiments.knowledge import FACTS, KNOWLEDGE
from memshare.evaluation.experiments.pools import POOLS
from memshare.evaluation.experiments.retriever import RETRIEVER

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
