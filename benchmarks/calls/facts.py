"""What mem0 and Graphiti are told by the chat server of `benchmarks.calls`: one fact about two things in each task."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from benchmarks.support.replies import Expert, Replies

_NEW_ENTITY = re.compile(r'"id": (\d+),\s*"name": "([^"]+)"')
_KNOWN_ENTITY = re.compile(r'"candidate_id": (\d+),\s*"name": "([^"]+)"')


class TaskFact(NamedTuple):
    """A sentence on two things."""

    one: str
    other: str
    sentence: str


class WithPeers(Replies):
    """Replies to mem0 and to Graphiti, too. Facts are new, and nothing contradicts anything."""

    def __init__(self, expert: Expert, facts: Mapping[str, TaskFact]) -> None:
        """`facts` are those of the tasks, by prompt."""
        super().__init__(expert)
        self._facts = facts

    def text(self, body: Mapping[str, Any], turns: list[str], wanted: Mapping[str, Any] | None) -> str:
        form = body.get("response_format") or {}
        if form.get("type") == "json_object":
            fact = {"id": "0", "text": self._fact(turns).sentence, "attributed_to": "assistant"}
            return json.dumps({"memory": [fact]})
        found = None if wanted is None else self._of_graphiti(str(wanted.get("title")), turns)
        return super().text(body, turns, wanted) if found is None else json.dumps(found)

    def _of_graphiti(self, title: str, turns: list[str]) -> dict[str, Any] | None:
        """What fits one of Graphiti's schemas, by its title."""
        no_time = {"valid_at": None, "invalid_at": None}
        match title:
            case "ExtractedEntities":
                return {"extracted_entities": self._entities(turns)}
            case "ExtractedEdges":
                return {"edges": [self._edge(turns) | no_time]}
            case "CombinedExtraction":
                return {"extracted_entities": self._entities(turns), "edges": [self._edge(turns)]}
            case "EdgeTimestamps":
                return no_time
            case "BatchEdgeTimestamps":
                return {"timestamps": [no_time]}
            case "NodeResolutions":
                known = {name: int(number) for number, name in _KNOWN_ENTITY.findall(turns[-1])}
                found = [
                    {"id": int(number), "name": name, "duplicate_candidate_id": known.get(name, -1)}
                    for number, name in _NEW_ENTITY.findall(turns[-1])
                ]
                return {"entity_resolutions": found}
            case "EdgeDuplicate":
                return {"duplicate_facts": [], "contradicted_facts": []}
            case "SummarizedEntities":
                fact = self._fact(turns)
                return {"summaries": [{"name": name, "summary": fact.sentence} for name in fact[:2]]}
        return None

    def _entities(self, turns: list[str]) -> list[dict[str, Any]]:
        return [{"name": name, "entity_type_id": 0} for name in self._fact(turns)[:2]]

    def _edge(self, turns: list[str]) -> dict[str, Any]:
        one, other, sentence = self._fact(turns)
        names = {"source_entity_name": one, "target_entity_name": other}
        return names | {"relation_type": "IS_ASKED_FOR", "fact": sentence, "episode_indices": [0]}

    def _fact(self, turns: list[str]) -> TaskFact:
        """The fact of the task that stands last: before it are those that came earlier."""
        last = max(self._facts, key=lambda prompt: turns[-1].rfind(prompt))
        return self._facts[last]
