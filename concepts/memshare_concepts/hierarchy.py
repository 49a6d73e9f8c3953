"""The concepts of one memory, from its subjects to the most general: what a model is asked for, and what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from memshare_broker.wire.messages import Message
from memshare_concepts.names import clean, key
from memshare_llm.structured import without_docstring

Levels = Mapping[int, Sequence[str]]
"""Names by level: -1 subjects, 0 the topic, 1 to 4 ever more general."""

FEWEST, MOST = 3, 30
"""How many concepts a memory has."""

Name = Annotated[str, Field(max_length=1000), AfterValidator(clean)]
"""A name as a model writes it; `clean` then holds it to its own limit, and says why where it refuses."""


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple({key(name): name for name in reversed(names)}.values())[::-1]


Names = Annotated[tuple[Name, ...], Field(max_length=MOST), AfterValidator(_each_once)]


class Hierarchy(Message):
    """The concepts of a memory by level, from what it is about in detail to the most general."""

    model_config = ConfigDict(json_schema_extra=without_docstring)

    subjects: Names
    topic: Name
    general_1: Names
    general_2: Names
    general_3: Names
    general_4: Names

    @model_validator(mode="after")
    def _enough(self) -> Self:
        found = len({key(name) for names in self.levels().values() for name in names})
        if not FEWEST <= found <= MOST:
            raise ValueError(f"expected {FEWEST} to {MOST} different concepts, not {found}")
        return self

    @classmethod
    def of_levels(cls, levels: Mapping[str, Sequence[object]]) -> Hierarchy:
        """A hierarchy from names by level, such as {"-1": ["Epsilon"], "0": ["Dual Number"]}.

        Of several topics the first is kept; other levels may be missing.
        """
        topics = levels.get("0") or [""]
        subjects, *general = ([str(name) for name in levels.get(level, ())] for level in ("-1", "1", "2", "3", "4"))
        return cls(
            subjects=tuple(subjects),
            topic=str(topics[0]),
            general_1=tuple(general[0]),
            general_2=tuple(general[1]),
            general_3=tuple(general[2]),
            general_4=tuple(general[3]),
        )

    def levels(self) -> dict[int, tuple[str, ...]]:
        """Names by level, from -1 to 4."""
        general = (self.general_1, self.general_2, self.general_3, self.general_4)
        return {-1: self.subjects, 0: (self.topic,), **dict(enumerate(general, start=1))}
