"""Graphiti in a Kuzu folder, with our encoder and a chat model of OpenAI's interface: for `benchmarks.calls`."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.support.replies import Pair
from benchmarks.synthetic import DIMENSION
from memshare_memory.encoders.encoder import Encoder


def remember(folder: Path, url: str, encoder: Encoder, pairs: Sequence[Pair]) -> int:
    """Add tasks with their answers as episodes, one after the other, as it does by default; returns its facts."""
    # Read when it is imported: vectors are as long as the encoder's, and nothing may leave the machine.
    os.environ |= {"EMBEDDING_DIM": str(DIMENSION), "GRAPHITI_TELEMETRY_ENABLED": "false"}
    return asyncio.run(_remember(folder, url, encoder, pairs))


async def _remember(folder: Path, url: str, encoder: Encoder, pairs: Sequence[Pair]) -> int:
    from graphiti_core import Graphiti
    from graphiti_core.cross_encoder.client import CrossEncoderClient
    from graphiti_core.driver.kuzu_driver import KuzuDriver
    from graphiti_core.embedder.client import EmbedderClient
    from graphiti_core.llm_client.config import LLMConfig
    from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient
    from graphiti_core.nodes import EpisodeType

    class Encoded(EmbedderClient):
        """The encoder that our memory service has."""

        async def create(self, input_data: str | list[str]) -> list[float]:
            texts = [input_data] if isinstance(input_data, str) else input_data
            return (await self.create_batch(texts[:1]))[0]

        async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
            vectors: list[list[float]] = encoder.encode(input_data_list).tolist()
            return vectors

    class Unranked(CrossEncoderClient):
        """Leaves the order as it is; what is added is not ranked."""

        async def rank(self, query: str, passages: list[str]) -> list[tuple[str, float]]:  # noqa: ARG002
            return [(passage, 0.0) for passage in passages]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Kuzu, which needs no server
        driver = KuzuDriver(str(folder / "graph"))
    await driver.graph_ops.build_indices_and_constraints(driver)
    model = OpenAIGenericClient(LLMConfig(api_key="benchmark", base_url=url, model="expert"))
    graphiti = Graphiti(graph_driver=driver, llm_client=model, embedder=Encoded(), cross_encoder=Unranked())
    for place, (prompt, answer) in enumerate(pairs):
        await graphiti.add_episode(
            name=f"task {place}",
            episode_body=f"user: {prompt}\nassistant: {answer}",
            source=EpisodeType.message,
            source_description="a task and its answer",
            reference_time=datetime.now(UTC),
        )
    found, _, _ = await driver.execute_query("MATCH (fact:RelatesToNode_) RETURN count(fact) AS facts")
    return int(found[0]["facts"])
