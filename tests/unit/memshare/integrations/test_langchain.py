"""The example selector of LangChain, in a few-shot prompt."""

from __future__ import annotations

import json

import pytest
import redis
from langchain_core.prompts import FewShotPromptTemplate, PromptTemplate

from memshare import BadInput, Memory
from memshare.integrations.langchain import MemoryExampleSelector
from memshare_broker.delivery.keys import MESSAGES

TASK = "new lamp by the sea"


def test_a_few_shot_prompt_is_made_of_memories(client: Memory, shelf: dict[str, str]) -> None:
    assert shelf
    prompt = FewShotPromptTemplate(
        example_selector=MemoryExampleSelector(client, "logic"),
        example_prompt=PromptTemplate.from_template("Q: {input}\nA: {output}"),
        suffix="Q: {input}\nA:",
        input_variables=["input"],
    )

    assert prompt.format(input=TASK) == f"Q: red lamp by the sea\nA: A light.\n\nQ: {TASK}\nA:"


def test_an_example_that_is_added_is_offered(client: Memory, shelf: dict[str, str], redis_client: redis.Redis) -> None:
    selector = MemoryExampleSelector(client, "logic", kind="riddle", input_key="question", output_key="reply")
    [selected] = selector.select_examples({"question": TASK})

    journey = selector.add_example({"question": TASK, "reply": "A buoy.", "recall_id": selected["recall_id"]})

    assert client.journeys.get(journey).answer == "A buoy."
    [pair] = [json.loads(text)["body"] for text in redis_client.hvals(MESSAGES)]
    assert [one["id"] for one in pair["shown"]] == [shelf["logic"]]
    with pytest.raises(BadInput, match="'question'"):
        selector.select_examples({"input": TASK})
