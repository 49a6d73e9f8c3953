"""The rule on contradictions for a chat model, and its summary of the claims of two memories."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

RULE = """\
`contradicts` is true only if one says of a thing in the world what the other denies: another day, number, name, \
place, cause, order or result for the very same thing. It is false where they are about different things or times, \
where one only says more, and where they differ in form, length, style, tone, language, opinion or invention: a poem \
or a telegram does not contradict a letter about the same subject, one good plan does not contradict another, and what \
is made up denies nothing."""


Claims = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000)]
"""The claims of two texts about the same thing, in a sentence."""
