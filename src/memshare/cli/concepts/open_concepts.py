"""Opens the concepts of a pool for a command: which pool is meant, and what to do where it has no concepts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

import redis
import typer

from memshare.client.client import Client
from memshare.extras import require
from memshare.operate.data_folder import connected
from memshare.terminal.console import errors
from memshare.terminal.ids import counted, say_unreadable, the_pool
from memshare_broker.errors import BadInput
from memshare_broker.settings import OFFLINE
from memshare_concepts.names import key
from memshare_llm.models import needs_model

if TYPE_CHECKING:
    from memshare_concepts.clusters import Cluster, Clusters
    from memshare_concepts.concept_graph import ConceptGraph
    from memshare_concepts.pool_graph import PoolConcepts

Size = Annotated[
    int | None, typer.Option(min=2, help="Memories of a cluster of the deepest level, on average. [10]", metavar="N")
]


@dataclass(frozen=True)
class OpenedConcepts:
    """The concepts of a pool, and whom to ask for more."""

    client: Client
    redis: redis.Redis
    concepts: PoolConcepts

    def clusters(self, size: int | None) -> Clusters:
        """The clusters of the pool, which was opened with `vectors`; `size` is the mean of the deepest level."""
        from memshare_concepts.cluster_cache import clusters_of
        from memshare_concepts.clusters import SIZE

        with errors.status("Finding clusters…"):
            return clusters_of(self.concepts, self.client.settings.data, SIZE if size is None else size)

    def cluster(self, number: int, size: int | None) -> tuple[Clusters, Cluster]:
        """The clusters, and one of them. Raises `BadInput` where there is none of that number."""
        found = self.clusters(size)
        try:
            return found, found.get(number)
        except KeyError:
            last = sum(map(len, found.levels()))
            raise BadInput(
                f"Pool {self.concepts.pool!r} has no cluster {number}: expected a number from 1 to {last}."
                " `memshare concepts clusters` lists them."
            ) from None


@contextmanager
def opened(command: str, pool: str | None, *, vectors: bool = False) -> Iterator[OpenedConcepts]:
    """Read the concepts of a pool, with `vectors` for clusters as well.

    Raises `BadInput` for an unknown pool and for one in which no memory has concepts.
    """
    require(f"memshare concepts {command}", "concepts")
    from memshare_concepts.pool_graph import load  # numpy and scipy take a while to import

    with Client() as client, connected(client.settings) as redis_client:
        name = the_pool(client, pool)
        with errors.status(f"Reading the concepts of pool {name!r}…"):
            concepts = load(client.memories, redis_client, name, vectors=vectors)
        if not concepts.memories:
            extract = f"`memshare concepts extract --pool {name}`"
            takes = f" {needs_model('It')}" if client.settings.model_for("scorer") == OFFLINE else ""
            raise BadInput(f"No memory of pool {name!r} has concepts yet: {extract} names them.{takes}")
        say_unreadable(client)
        if concepts.without:
            line = f"Left out: {counted(concepts.without)} without concepts. `memshare concepts extract` names them."
            errors.print(line, style="dim")
        yield OpenedConcepts(client, redis_client, concepts)


_SHOWN = 5  # names that are like what was typed


def concept_named(graph: ConceptGraph, typed: str, pool: str) -> str:
    """The concept that is meant, as it is shown. Raises `BadInput`, with the nearest names, where there is none."""
    number = graph.index.number(typed)
    if number is not None:
        return graph.index.name(number)
    near = nearest_names(graph, typed)
    advice = f" The nearest: {', '.join(near)}." if near else ""
    raise BadInput(f"No concept of pool {pool!r} is called {typed!r}.{advice}")


def nearest_names(graph: ConceptGraph, typed: str) -> list[str]:
    """Names that hold what was typed, those of most memories first, or else names of a similar spelling."""
    wanted = key(typed)
    names = {key(name): name for name in graph.concepts()}
    inside = [name for one, name in names.items() if wanted and wanted in one]
    if inside:
        return sorted(inside, key=lambda name: (-graph.count(name), name))[:_SHOWN]
    return [names[one] for one in get_close_matches(wanted, names, _SHOWN)]
