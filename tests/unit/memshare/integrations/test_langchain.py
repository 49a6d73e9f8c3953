"""The example selector of LangChain, in a few-shot prompt."""

from __future__ import annotations

import json

import pytest
import redis
from langchain_core.prompts import (
    ChatPromptTemplate,
    FewShotChatMessagePromptTemplate,
    FewShotPromptTemplate,
    PromptTemplate,
)

from memshare import BadInput, Memory
from memshare.integrations.langchain import MemoryExampleSelector
from memshare_broker.delivery.schema import MESSAGES
from tests.support.word_encoder import WordEncoder
from tests.unit.memshare.integrations.conftest import Pairs

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
    with pytest.raises(BadInput, match="prompt"):
        selector.select_examples({"question": " "})
    with pytest.raises(BadInput, match="'question'"):
        selector.select_examples({"input": TASK})


BRACES = r"f({x}) = {{y}} %s {% raw %} ${HOME} {input.__class__} }{ \sum_{i=1}^{n}"


def test_braces_of_others_are_shown_as_they_are(client: Memory) -> None:
    client.memories.add(BRACES, pool="logic", prompt=f"lamp {BRACES}", new_pool=True)
    text = FewShotPromptTemplate(
        example_selector=MemoryExampleSelector(client, "logic", double_braces=True),
        example_prompt=PromptTemplate.from_template("Q: {input}\nA: {output}"),
        suffix="Q: {input}\nA:",
        input_variables=["input"],
    )
    pair = ChatPromptTemplate([("human", "{input}"), ("ai", "{output}")])
    chat = FewShotChatMessagePromptTemplate(
        example_selector=MemoryExampleSelector(client, "logic"), example_prompt=pair, input_variables=["input"]
    )

    assert text.format(input="{lamp}") == f"Q: lamp {BRACES}\nA: {BRACES}\n\nQ: {{lamp}}\nA:"
    assert [one.content for one in chat.format_messages(input="lamp")] == [f"lamp {BRACES}", BRACES]


def test_a_follow_up_is_recalled_for_and_offered_with_its_history(
    client: Memory, pairs: Pairs, encoder: WordEncoder
) -> None:
    client.memories.add("Paris.", pool="logic", prompt="capital of france", new_pool=True)
    selector = MemoryExampleSelector(client, "logic", history_key="history")
    shown = FewShotChatMessagePromptTemplate(
        example_selector=selector,
        example_prompt=ChatPromptTemplate([("human", "{input}"), ("ai", "{output}")]),
        input_variables=["input", "history"],
    )
    prompt = ChatPromptTemplate([("system", "Be brief."), ("placeholder", "{history}"), shown, ("human", "{input}")])
    task = {"input": "And its population?", "history": [("human", "Capital of France?"), ("ai", "Paris.")]}

    messages = prompt.format_messages(**task)
    selector.add_example({**task, "output": "2.1 million."})
    selector.add_example({"input": "Chile?", "output": "Santiago."})

    assert [one.content for one in messages] == [
        "Be brief.", "Capital of France?", "Paris.", "capital of france", "Paris.", "And its population?"
    ]  # fmt: skip
    assert encoder.encoded[-2] == "And its population?\nParis.\nCapital of France?"
    whole = "User: Capital of France?\nAssistant: Paris.\nUser: And its population?"
    assert {one["prompt"] for one in pairs()} == {whole, "Chile?"}
