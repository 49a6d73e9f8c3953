"""The student of the demo as a chat model: `python -m memshare.demo.student_server` serves it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memshare.demo.chat_server import serve
from memshare.demo.expert import SqlExpert
from memshare.demo.text_to_sql import read_questions

REFUSAL = "The student of the demo copies SQL, and can do nothing else."


def reply(expert: SqlExpert, body: Mapping[str, Any]) -> str | None:
    """What the student says to a request of the chat interface: SQL, or which examples mislead.

    None for anything else.
    """
    wanted = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    turns = [turn["content"] for turn in body["messages"]]
    if wanted is None:
        *shown, asked = turns[1:]
        return expert.answer(asked, list(zip(shown[::2], shown[1::2], strict=True))[::-1])
    document = json.loads(turns[1])
    if "example_1" in wanted["properties"]:
        examples = {name: (one["prompt"], one["answer"]) for name, one in document["examples"].items()}
        return json.dumps({name: expert.misleads(document["prompt"], one) for name, one in examples.items()})
    if "other_1" in wanted["properties"]:
        return json.dumps({key: {"claims": "Each is a query.", "contradicts": False} for key in document["others"]})
    return None


def completion(expert: SqlExpert, body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of the response; the student refuses what it cannot do."""
    text = reply(expert, body)
    message = {"role": "assistant", "content": text, "refusal": REFUSAL if text is None else None}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "student", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}


def main() -> None:
    expert = SqlExpert(read_questions())

    async def answer(_path: str, body: bytes) -> bytes:
        return json.dumps(completion(expert, json.loads(body))).encode()

    serve(answer)


if __name__ == "__main__":
    main()
