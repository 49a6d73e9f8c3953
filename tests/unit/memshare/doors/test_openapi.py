"""Requests of all kinds, made from the OpenAPI description: each is answered as it says, and none with a fault."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from memshare.doors.server import rest_app
from memshare.operations.backend import Backend
from memshare.operations.caller import local_caller
from memshare.operations.journeys import cancel
from memshare.operations.sharing import offer
from tests.support.deployment import patient
from tests.unit.memshare.doors.conftest import bury
from tests.unit.memshare.doors.described import DESCRIPTION, OPERATIONS

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EACH = 6  # requests of an operation and a mode


@pytest.fixture(scope="module")
def schema() -> Any:
    """What is asked for comes from the description alone; to look for more in our modules takes as long again."""
    schema = schemathesis.openapi.from_dict(DESCRIPTION)
    schema.config.analysis.constants.enabled = False
    return schema


@pytest.fixture
def described(schema: Any, backend: Backend, shelf: dict[str, str]) -> Any:
    """The app for who may do everything, on pools that have something in them."""
    assert shelf
    token = backend.tokens.create("fuzz", ("admin",), None)
    backend.tokens.create("spare", ("recall",), None)
    schema.app = rest_app(backend)
    schema.config.update(headers={"Authorization": f"Bearer {token}"})
    return schema


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_request_is_answered_as_described(
    method: str, path: str, described: Any, backend: Backend, shelf: dict[str, str]
) -> None:
    statuses = set()
    journey = offer(backend, local_caller(), agent="logic", prompt="x", answer="y").id
    cancel(backend, local_caller(), journey)  # nothing waits for it, then
    known = {
        "memory_id": shelf["logic"],
        "journey_id": journey,
        "name": "logic",
        "pool": "logic",
        "token_name": "spare",
        "letter_id": bury(backend, "logic", "x"),
    }
    known_or_made = cycle([True, False])
    takes_something = method != "GET" or "{" in path or path in ("/v1/memories", "/v1/conflicts", "/v1/trash")
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE) if takes_something else (GenerationMode.POSITIVE,)
    for mode in modes:

        @given(case=described[path][method].as_strategy(generation_mode=mode))
        @settings(
            max_examples=EACH,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def ask(case: schemathesis.Case) -> None:
            if next(known_or_made):
                case.path_parameters.update({name: known[name] for name in case.path_parameters or ()})
            if "wait" in (case.query or {}):
                case.query["wait"] = 0
            response = case.call(timeout=patient(30))
            statuses.add(response.status_code)
            case.validate_response(response, checks=CHECKS)

        ask()

    no_model_was_asked = path.endswith("/prompt")
    assert any(status < 300 for status in statuses) or method != "GET" or no_model_was_asked
    assert not {401, 403, 405, 503} & statuses - ({405} if "{" in path else set())
