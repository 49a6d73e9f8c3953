"""The table of calls: what is declared once is a route, a method of both clients, and documented."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from memshare import AsyncMemory, BadInput, Memory
from memshare.client.rest.call import Call
from memshare.client.rest.calls.memories import ConditionArguments
from memshare.client.rest.methods import Calls
from memshare.doors.rest import RESPONSES
from memshare.operations.backend import Backend
from memshare.operations.caller import local_caller
from memshare.operations.memories import edit
from memshare.operations.operating import set_one
from memshare.operations.serving import ask, form_of, served, tools
from memshare_broker.settings import Settings
from tests.support.deployment import ROOT
from tests.unit.memshare.doors.described import DESCRIPTION

SERVED = served()
GUIDE = (ROOT / "docs" / "doors.md").read_text(encoding="utf-8")


def methods(memory: Calls[Any]) -> dict[Call[Any], str]:
    """The calls that a client has methods for, its groups included, with their names as they are written."""
    found = {}
    for name in dir(type(memory)):
        if name.startswith("_"):
            continue
        one = getattr(memory, name)
        if isinstance(one, Calls):
            found |= {call: f"{name}.{inner}" for call, inner in methods(one).items()}
        elif call := getattr(one, "call", None):
            found[call] = name
    return found


def test_wrong_arguments_are_told_the_parameters() -> None:
    with pytest.raises(TypeError, match=r"^recall\(prompt=None, \*, agent=None.*: too many positional arguments"):
        Memory("http://127.0.0.1:1").recall("logic", "A riddle", "riddle", 3, "ada")  # type: ignore[misc, call-arg]


@pytest.mark.parametrize("kind", [Memory, AsyncMemory])
def test_each_call_is_a_method_that_is_answered_and_nothing_else_is(kind: type[Calls[Any]]) -> None:
    assert methods(kind("http://127.0.0.1:1")).keys() == SERVED.keys()  # type: ignore[arg-type]


@pytest.mark.parametrize("call", SERVED, ids=lambda call: call.name)
def test_each_call_is_a_route_with_its_reply(call: Call[Any]) -> None:
    described = DESCRIPTION["paths"][call.path][call.verb.lower()]
    hints = typing.get_type_hints(SERVED[call])

    assert described["operationId"] == call.name
    assert described["description"] == call.does != ""
    assert {str(call.status), *RESPONSES} <= described["responses"].keys() <= {str(call.status), "422", *RESPONSES}
    if call.silence:
        assert typing.get_origin(hints["return"]) is AsyncIterator
    else:
        assert hints["return"] == call.reply
    assert list(inspect.signature(SERVED[call]).parameters)[:2] == ["backend", "caller"]


@pytest.mark.parametrize("call", SERVED, ids=lambda call: call.name)
def test_a_client_sends_what_the_route_takes(call: Call[Any]) -> None:
    described = DESCRIPTION["paths"][call.path][call.verb.lower()]
    takes = {one["name"] for one in described.get("parameters", ()) if one["in"] != "header"}
    if body := described.get("requestBody"):
        form = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        takes |= DESCRIPTION["components"]["schemas"][form]["properties"].keys()
    given = dict(call.signature.parameters)
    del given["self"]
    given.pop(call.if_match or "", None)
    if given.pop("conditions", None):
        given |= dict.fromkeys(ConditionArguments.__annotations__)

    assert given.keys() == takes


def test_a_form_is_made_of_the_parameters_that_the_path_does_not_name() -> None:
    assert form_of(set_one).model_fields.keys() == {"kind", "name", "tokens", "money", "none"}
    assert form_of(edit).model_fields.keys() == {"prompt", "answer", "status", "valid_until"}, "the version is a header"

    with pytest.raises(BadInput, match=r"The cap: tokens.*-1"):
        ask("The cap", set_one, Backend(Settings()), local_caller(), kind="agent", name="poem", tokens=-1)


@pytest.mark.parametrize("call", SERVED, ids=lambda call: call.name)
def test_each_call_stands_in_the_guide(call: Call[Any]) -> None:
    path = re.sub(r"{\w+}", "ID", call.path)
    name = methods(Memory("http://127.0.0.1:1"))[call]

    assert f"`{call.verb} {path}`" in GUIDE
    assert f"`{name}`" in GUIDE or f"`.{name.rpartition('.')[2]}`" in GUIDE


def test_each_tool_belongs_to_a_call_and_is_described() -> None:
    assert {tool.call for tool in tools()} <= SERVED.keys()
    for tool in tools():
        assert inspect.getdoc(tool.function)
        assert f"| `{tool.name}` |" in GUIDE


@pytest.mark.parametrize("made", ["", ".", "..", "a/b", "1/shown", "/"])
def test_an_id_that_makes_the_path_of_another_call_makes_no_request(made: str) -> None:
    tried = 0
    for call in SERVED:
        for name in re.findall(r"{(\w+)}", call.path):
            needed = [one.name for one in call.signature.parameters.values() if one.default is one.empty][1:]
            given = dict.fromkeys(needed, "x") | {name: made}
            given.pop("conditions", None)

            if name == "pool" and "/" in made:  # as of a pool of one's own
                assert quote(made, safe="") in call.request(**given).target
                continue
            with pytest.raises(BadInput, match=re.escape(repr(made))):
                call.request(**given)
            tried += 1
    assert tried > 20


def test_an_empty_id_is_wrong_and_no_server_is_asked() -> None:
    with Memory("http://127.0.0.1:1", tries=1) as memory:
        asked = (memory.memories.get, memory.memories.forget, memory.journeys.get, memory.agent, memory.rubric)
        for call in asked:
            with pytest.raises(BadInput, match="''"):
                call("")
