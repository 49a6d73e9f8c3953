"""Tools of an MCP server, well and otherwise: a run ends in an answer whatever the server does."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings

from memshare_agents.reasoning.engine import OPERATORS, Reasoner
from memshare_agents.reasoning.run_state import RunLimits
from memshare_agents.reasoning.toolbox import McpServer, Toolbox
from memshare_agents.roster import load_roster
from memshare_agents.tasks import AnswerStage
from memshare_broker.errors import GiveUp
from memshare_broker.wire.messages import AgentTask, Answer
from memshare_memory.door.client import MemoryClient
from tests.support.raw_server import Answering, raw_server, trickling
from tests.support.scripted_chat import ScriptedChat
from tests.support.served import running
from tests.support.shelf import CHECK, RESPOND, answered, judged, planned, sources


@pytest.fixture
def url() -> Iterator[str]:
    """A server with a few tools."""
    server = MCPServer("tides")

    @server.tool()
    def high_water(place: str, days: int = 1) -> str:
        """Tells the high water of a place."""
        return f"{place}, {days} days: 4.2 m"

    @server.tool()
    def broken(place: str) -> str:
        """Breaks."""
        raise ToolError(f"no tide at {place}")

    @server.tool()
    def slow(place: str) -> str:
        """Takes long."""
        time.sleep(3)
        return place

    @server.tool()
    def huge(place: str) -> str:
        """Says too much."""
        return place * 2_000_000

    @server.tool()
    def browser(source: str) -> str:
        """Takes the name of another operator."""
        return source

    app = server.streamable_http_app(
        stateless_http=True, transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False)
    )
    with running(uvicorn.Server(uvicorn.Config(app, log_level="critical"))) as address:
        yield f"{address}/mcp"


def call(server: McpServer, name: str) -> str:
    offers, failed = server.offers()
    assert failed == ""
    return next(one for one in offers if one.name == name).call({"place": "Ulm"})


def test_the_tools_of_a_server_are_operators(url: str) -> None:
    server = McpServer(url, 10)

    found, notes = Toolbox(servers=[server], taken=OPERATORS).operators()

    assert notes == ("A tool was left out: No tool can be called 'browser': an operator is. Give it another name.",)
    assert list(found) == ["high_water", "broken", "slow", "huge"], "the engine's own browser stays"
    assert found["high_water"].does == "Tells the high water of a place."
    assert call(server, "high_water") == "Ulm, 1 days: 4.2 m"


@pytest.mark.parametrize(
    ("tool", "error", "words"),
    [
        ("broken", GiveUp, "broken says: .*no tide at Ulm"),
        ("slow", GiveUp, "did not answer within 1 s"),
        ("huge", GiveUp, "."),
    ],
)
def test_a_tool_that_fails_is_an_error_that_says_so(url: str, tool: str, error: Any, words: str) -> None:
    server = McpServer(url, 10)
    server.offers()
    server._seconds = 1  # of the call alone: the first one also imports

    with pytest.raises(error, match=words):
        call(server, tool)


def nothing_listens() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/mcp"


def said(body: bytes, kind: str = "application/json", status: str = "200 OK", more: str = "") -> Answering:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return lambda connection, _: connection.sendall(head.encode() + body)


BAD: dict[str, Answering] = {
    "no http": lambda connection, _: connection.sendall(b"\x00\xff garbage\r\n\r\n"),
    "hangs up": lambda connection, _: connection.close(),
    "trickles": trickling(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + b" " * 1_000, 0.05),
    "html": said(b"<html>It works!</html>", "text/html"),
    "no json": said(b"{"),
    "other json": said(b'{"jsonrpc": "2.0", "id": 1, "result": {"tools": "none"}}'),
    "deep json": said(b"[" * 100_000),
    "error": said(b"no", status="500 Internal Server Error"),
    "packed": said(b"\x1f\x8b\x08\x00", more="Content-Encoding: gzip\r\n"),
    "elsewhere": said(b"", status="307 Temporary Redirect", more="Location: http://evil.example/mcp\r\n"),
}


@pytest.mark.parametrize("answer", BAD.values(), ids=BAD)
def test_a_server_that_is_none_is_noted_and_its_tools_are_not_there(answer: Answering) -> None:
    with raw_server(answer) as raw:
        server = McpServer(f"http://127.0.0.1:{raw.port}/mcp", 2)
        began = time.monotonic()

        offers, failed = server.offers()

    assert offers == ()
    assert failed.startswith("Its tools were not listed: ")
    assert time.monotonic() - began < 8


def answering(memory: MemoryClient, chat: ScriptedChat, server: McpServer) -> AnswerStage:
    box = Toolbox(servers=[server], taken=OPERATORS)
    return AnswerStage(
        load_roster(None)["reasoning"], chat, memory, 1_000,
        reasoner=Reasoner(RunLimits(), chat, {}, sources(), box),
    )  # fmt: skip


def answer_of(stage: AnswerStage) -> Answer:
    outcome = stage.run("journey-1", AgentTask(prompt="How high is the water?"))
    assert isinstance(outcome.record, Answer)
    return outcome.record


def test_a_task_is_answered_while_a_server_is_away_and_says_so(memory: MemoryClient) -> None:
    chat = ScriptedChat(planned(RESPOND, CHECK), answered("4.2 m."), judged(True))
    away = nothing_listens()

    found = answer_of(answering(memory, chat, McpServer(away, 2)))

    assert found.answer == "4.2 m."
    [note] = found.notes
    assert note.startswith(f"Its tools were not listed: {away} cannot be used")


def test_a_server_that_goes_away_leaves_its_step_an_error(memory: MemoryClient, url: str) -> None:
    step = {"operator": "high_water", "input": {"place": "Ulm", "days": None}}
    chat = ScriptedChat(planned(step), planned(RESPOND, CHECK), answered("I cannot tell."), judged(True))
    server = McpServer(url, 5)
    listed = server.offers()[0]
    server.url = nothing_listens()

    found = answer_of(answering(memory, chat, server))

    assert listed
    assert found.steps[1].said.startswith("Not done: ")
    assert "cannot be used" in found.steps[1].said
    assert found.answer == "I cannot tell."


def test_a_server_that_came_back_is_asked_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memshare_agents.reasoning.toolbox.AWAY_FOR", 0.0)
    server = McpServer(nothing_listens(), 5)
    failed = server.offers()[1]

    server.url = url

    assert failed
    assert server.offers()[0][0].name == "high_water"


def test_without_the_package_the_worker_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memshare_agents.reasoning.toolbox.find_spec", lambda _: None)
    make: Callable[[], McpServer] = lambda: McpServer("https://tools.example/mcp", 5)  # noqa: E731

    with pytest.raises(Exception, match=r"\.\[serve\]"):
        make()
