"""Agents that are not memshare's, each with its own library, which share a pool by the doors of `memshare serve`."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import httpx2
import openai
from langchain_core.messages import AIMessage, convert_to_openai_messages
from langgraph.graph import END, START, StateGraph
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from memshare import Memory
from memshare.integrations.langgraph import SharingState, sharing_nodes
from tests.support.agents_sdk import agents_sdk

MODEL = "scripted"


@dataclass(frozen=True)
class Shared:
    """What became of a task: the answers that the agent was shown, and the id of its journey."""

    shown: set[str]
    journey: str


Outsider = Callable[[str], Shared]


def langgraph_agent(memory: Memory, chat_url: str) -> Outsider:
    """A graph of three nodes: recall, answer by the chat server, offer."""
    recall, offer = sharing_nodes(memory, "logic", kind="riddle", model=MODEL, k=10)

    shown: set[str] = set()

    def answer(state: Any) -> dict[str, Any]:
        shown.update(one.text for one in state["messages"] if isinstance(one, AIMessage))
        with openai.OpenAI(base_url=chat_url, api_key="test") as client:
            reply = client.chat.completions.create(
                model=MODEL, messages=cast("Any", convert_to_openai_messages(state["messages"]))
            )
        return {"messages": [AIMessage(reply.choices[0].message.content or "")]}

    builder = StateGraph(SharingState)
    for name, node in (("recall", recall), ("answer", answer), ("offer", offer)):
        builder.add_node(name, node)
    for edge in ((START, "recall"), ("recall", "answer"), ("answer", "offer"), ("offer", END)):
        builder.add_edge(*edge)
    graph = builder.compile()

    def work(task: str) -> Shared:
        shown.clear()
        end = graph.invoke({"messages": [{"role": "user", "content": task}]})
        return Shared(set(shown), end["journey"])

    return work


def openai_agent(memory: Memory, chat_url: str) -> Outsider:
    """An agent of the OpenAI Agents SDK whose runs are shared by hooks."""
    sdk = agents_sdk()
    sdk.set_tracing_disabled(True)
    from memshare.integrations.openai_agents import SharedRuns

    async def run(task: str) -> Shared:
        done: list[Any] = []
        shared = SharedRuns(memory, "logic", kind="riddle", model=MODEL, k=10, then=done.append)
        async with openai.AsyncOpenAI(base_url=chat_url, api_key="test") as client:
            model = sdk.OpenAIChatCompletionsModel(MODEL, client)
            await sdk.Runner.run(sdk.Agent(name="Solver", model=model), task, hooks=shared, run_config=shared.config)
        return Shared({one.answer for one in done[0].memories}, done[0].journey)

    return lambda task: asyncio.run(run(task))


def mcp_client(url: str, token: str, answer: Callable[[str], str]) -> Outsider:
    """A program that calls the tools over HTTP, and answers by itself."""

    async def work(task: str) -> Shared:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
        ):
            recalled = await _called(client, "recall", prompt=task, agent="logic", k=10)
            about = {"prompt": task, "answer": answer(task), "agent": "logic", "recall_id": recalled["recall_id"]}
            pair = await _called(client, "offer", **about)
        return Shared({one["answer"] for one in recalled["memories"]}, pair["id"])

    return lambda task: asyncio.run(work(task))


def curl(url: str, token: str, answer: Callable[[str], str]) -> Outsider:
    """Three lines of a shell script."""

    def post(path: str, **body: Any) -> dict[str, Any]:
        command = ["curl", "-s", "--fail-with-body", f"{url}{path}", "-H", f"Authorization: Bearer {token}"]
        sent = [*command, "-H", "Content-Type: application/json", "-d", json.dumps(body)]
        found: dict[str, Any] = json.loads(subprocess.run(sent, capture_output=True, check=True, timeout=30).stdout)
        return found

    def work(task: str) -> Shared:
        recalled = post("/v1/recall", agent="logic", prompt=task, k=10)
        about = {"prompt": task, "answer": answer(task), "recall_id": recalled["recall_id"]}
        return Shared({one["answer"] for one in recalled["memories"]}, post("/v1/pairs", agent="logic", **about)["id"])

    return work


async def _called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content
