"""A model writes what a file of claims leaves out, and what is given stays."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from pydantic import BaseModel

from memshare.evaluation.data import DataItem, as_item, lacks
from memshare.evaluation.experiments.knowledge import NEEDED
from memshare.evaluation.judging import differing, write
from memshare_broker.errors import MemshareError
from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.chat import Reply
from tests.support.scripted_chat import ScriptedChat

PAIR = {"supported": "1/2000 in UK have abnormal PrP.", "contradicted": "1 in 5 million in UK have abnormal PrP."}
WHOLE = {
    "question": "How many people in the UK have abnormal PrP?", "answer": "1/2000", "changed": "1 in 5 million",
    "statement": "What the model makes of 1/2000.", "changed_statement": "What it makes of 1 in 5 million.",
}  # fmt: skip


class Writer(ScriptedChat):
    """Replies with these, one after another."""

    def __init__(self, *replies: dict[str, str]) -> None:
        super().__init__()
        self.left = list(replies)

    def reply(self, turns: Sequence[Turn], schema: type[BaseModel] | None = None) -> Reply:  # noqa: ARG002
        self.conversations.append(tuple(turns))
        return Reply(text=json.dumps(self.left.pop(0)), model="writer", usage=Usage())


def item(**fields: str | None) -> DataItem:
    line = {"prompt": None, "kind": None, "id": "x", "agent": "reasoning"} | fields
    return DataItem.model_validate(line)


def pair() -> DataItem:
    line = as_item(dict(PAIR))
    return item(answer=line["answer"], statement=line["statement"], changed_statement=line["changed_statement"])


def test_a_pair_of_claims_gets_its_question_and_both_answers_and_keeps_its_words() -> None:
    chat = Writer(WHOLE)

    written = write(chat, pair())

    assert lacks(pair(), NEEDED)
    assert not lacks(written, NEEDED)
    assert (written.prompt, written.answer, written.changed) == (WHOLE["question"], "1/2000", "1 in 5 million")
    assert (written.statement, written.changed_statement) == (PAIR["supported"], PAIR["contradicted"])
    given = json.loads(chat.conversations[0][-1].content)
    assert given == {"question": None, "answer": "1/2000", "changed": "1 in 5 million"} | {
        "statement": PAIR["supported"], "changed_statement": PAIR["contradicted"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("claim", "other", "words"),
    [
        ("Salt raises pressure in rats.", "Salt lowers pressure in rats.", ("raises", "lowers")),
        ("A is so.", "A is not so.", ("A is so.", "A is not so.")),
        ("A helps B.", "A hurts B and C.", ("helps B.", "hurts B and C.")),
        ("It is a cat.", "It is a cat cat.", ("It is a cat.", "It is a cat cat.")),
    ],
)
def test_the_answers_of_a_pair_of_claims_are_the_words_in_which_they_differ(
    claim: str, other: str, words: tuple[str, str]
) -> None:
    assert differing(claim, other) == words


def test_a_question_with_its_answer_gets_a_counterfactual_and_two_statements() -> None:
    given = item(prompt="What is the capital of France?", answer="Paris")
    reply = {"question": "-", "answer": "-", "changed": "Lyon", "statement": "Paris is the capital of France."}

    written = write(Writer(reply | {"changed_statement": "The capital of France is Lyon."}), given)

    assert (written.prompt, written.answer, written.changed) == ("What is the capital of France?", "Paris", "Lyon")
    assert written.statement == "Paris is the capital of France."


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"statement": "One in 2,000 in UK have abnormal PrP."}, "the very words"),
        ({"changed": "UK"}, "stand in"),
        ({"changed": "never"}, "the very"),
    ],
)
def test_a_reply_whose_words_stand_in_no_statement_or_in_both_goes_back_with_the_reason(
    wrong: dict[str, str], reason: str
) -> None:
    right = WHOLE | {"statement": PAIR["supported"], "changed_statement": PAIR["contradicted"]}
    chat = Writer(right | wrong, right)

    assert write(chat, item(answer="1/2000")).changed == "1 in 5 million"
    assert reason in chat.conversations[1][-1].content

    with pytest.raises(MemshareError):
        write(Writer(right | wrong, right | wrong), item(answer="1/2000"))
