"""Checks of an answer that is to be JSON."""

from __future__ import annotations

import json
from pathlib import Path

from jsonschema.validators import validator_for


def fits_schema(prompt: str, answer: str, *, schema: str) -> bool:  # noqa: ARG001
    """True if the answer is JSON that fits the JSON schema in a file."""
    wanted = json.loads(Path(schema).read_text("utf-8"))
    kind = validator_for(wanted)
    kind.check_schema(wanted)
    try:
        found = json.loads(answer)
    except ValueError:
        return False
    return kind(wanted).is_valid(found)
