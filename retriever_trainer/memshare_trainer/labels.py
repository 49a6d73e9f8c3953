"""Labels the candidates of a lesson: P(¬Y | (x_i, y_i), X), as INMS has it (arXiv 2404.09982)."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from memshare_broker.wire.lessons import Candidate, Compared, LabelledBy, LessonTask
from memshare_broker.wire.messages import Turn, Usage
from memshare_llm.batches import Batches
from memshare_llm.chat import Chat, FirstToken, NoLogprobs
from memshare_llm.limits.budget import Metering, Payer, unmetered
from memshare_llm.models import has_model
from memshare_llm.structured import conversation
from memshare_trainer.percentages import MISLEADING, QUOTED, Percentages, ask_for_percentages, bounded, shown

log = logging.getLogger(__name__)

SIDE_BY_SIDE = 8

YES_OR_NO = f"""\
You judge whether an example helps or misleads someone who answers a prompt.

The user's turn is one JSON document. `prompt` is what was asked, and `answer` a good answer to it. `example` is \
an earlier prompt with its answer; a `prompt` that is null is unknown. Long texts are cut off.

Imagine a capable writer who is shown the example alone, as a model of how to answer, and then answers `prompt` \
without having seen `answer`. {MISLEADING}

Would what is written agree with `answer`?
Yes: the example leads to an answer such as `answer`, and nothing that would carry over from it contradicts `answer`.
No: the example leads away: its form, its kind of task or its claims would make an answer that contradicts `answer`.

{QUOTED}

Reply with one word alone: Yes or No."""


class Labels(NamedTuple):
    """P(¬Y) of each candidate, 0 to 1, in the task's order; how that is known; the tokens of all calls.

    Low: as an example, the candidate helps to write an answer such as Y. High: it leads away from Y.
    """

    values: tuple[float, ...]
    way: LabelledBy
    usage: Usage
    compared: Compared | None = None
    """Which rivals of the lesson's memory contradict it, where it has any and the model was asked in the same call."""
    model: str | None = None


class Labeller:
    """Asks a chat model for labels: as JSON, or with a call for each candidate by log-probabilities.

    A model that gives no log-probabilities is asked for JSON, too, which is found out once. With `batches`, lessons of
    one pool and payer share a call for JSON.
    """

    def __init__(
        self,
        chat: Chat,
        metering: Metering = unmetered,
        way: LabelledBy = "json",
        batches: Batches[LessonTask, Percentages] | None = None,
    ) -> None:
        self._chat = chat
        self._metering = metering
        self._batches = batches
        self._has_logprobs: bool | None = False if way == "json" else None  # None: not known yet

    def label(self, task: LessonTask) -> Labels:
        """The labels of a lesson; where it has them, or has no candidates, the model is not asked.

        Raises `NotYet` as long as it waits for others, `DoesNotFit` when the model's JSON does not fit twice in a row,
        and whatever the model raises.
        """
        if task.labels:
            return Labels(task.labels, "answers alike", Usage())
        if not task.candidates:
            return Labels((), "json", Usage())
        tokens = self._first_tokens(task)
        spent = sum((token.usage for token in tokens), Usage())
        shares = [share for token in tokens if (share := share_of_no(token.probabilities)) is not None]
        if len(shares) == len(task.candidates):
            return Labels(tuple(shares), "logprobs", spent, model=self._chat.name)
        said = self._percentages(task)
        return Labels(said.values, "json", spent + said.usage, said.compared, self._chat.name)

    def _percentages(self, task: LessonTask) -> Percentages:
        if self._batches is None or not has_model(self._chat):
            return self._ask([task])[task.journey]
        return self._batches.said(task.journey) or self._batches.ask(task, self._ask)

    def _ask(self, tasks: Sequence[LessonTask]) -> dict[str, Percentages]:
        first = tasks[0]
        with self._metering(self._chat, Payer(first.journey, first.agent, first.submitter)) as chat:
            return ask_for_percentages(chat, tasks)

    def _first_tokens(self, task: LessonTask) -> list[FirstToken]:
        """First tokens of a yes or no on each candidate; none where the model gives no log-probabilities."""
        if self._has_logprobs is False:
            return []
        with self._metering(self._chat, Payer(task.journey, task.agent, task.submitter)) as chat:
            return self._ask_for_first_tokens(chat, task)

    def _ask_for_first_tokens(self, chat: Chat, task: LessonTask) -> list[FirstToken]:
        """How a yes or no on each candidate begins; not on all of them, where the first tell that it is no use."""
        conversations = [yes_or_no(task, candidate) for candidate in task.candidates]
        # As long as it is not known, one call alone: a model that refuses is asked once and not eight times.
        alone = 0 if self._has_logprobs else 1
        try:
            tokens = [chat.first_token(turns) for turns in conversations[:alone]]
            if any(share_of_no(token.probabilities) is None for token in tokens):
                return tokens
            with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
                tokens += threads.map(chat.first_token, conversations[alone:])
        except NoLogprobs as error:
            self._has_logprobs = False
            log.info("Labels are asked for as JSON from now on: %s", error)
            return []
        self._has_logprobs = True
        return tokens


def share_of_no(probabilities: Mapping[str, float]) -> float | None:
    """P(no) / (P(yes) + P(no)) over all their spellings; None where neither is among the tokens."""
    sums = {"yes": 0.0, "no": 0.0}
    for token, probability in probabilities.items():
        # Some servers send a token with its mark of a leading space, Ġ.
        word = re.sub(r"[\W_Ġ]", "", token).casefold()
        if word in sums:
            sums[word] += probability
    both = sums["yes"] + sums["no"]
    return sums["no"] / both if both else None


def yes_or_no(task: LessonTask, candidate: Candidate) -> tuple[Turn, Turn]:
    """The question whether one candidate leads to Y; its document quotes X, Y and the candidate."""
    document = {"prompt": bounded(task.prompt), "answer": bounded(task.answer), "example": shown(candidate, bounded)}
    return conversation(YES_OR_NO, document)
