"""The check of an encoder, with the records of pools whose lessons the words decide."""

from __future__ import annotations

from itertools import product
from uuid import UUID

import numpy as np
import pytest

from memshare_broker.wire.lessons import Candidate, Evidence, LessonTask, UsedMemory
from memshare_broker.wire.messages import Embedding, Usage, derived_id
from memshare_memory.encoders.encoder import Encoder
from memshare_trainer.consolidation import finetune as checking
from memshare_trainer.consolidation.finetune import Check, check
from memshare_trainer.consolidation.pool_record import PoolRecord
from memshare_trainer.labels import Labels
from memshare_trainer.lesson import Figure, RankingComparison, StoredLesson
from memshare_trainer.step import relearn
from tests.support.word_encoder import WordEncoder

FORMS = ("haiku", "recipe", "riddle", "letter")
TOPICS = ("whale", "tram", "bread", "snow", "comet", "tulip")


def identity(text: str) -> UUID:
    return derived_id("poem", text)


def embedded(text: str) -> Embedding:
    encoder = WordEncoder()
    return Embedding.pack(encoder.name, encoder.encode([text])[0])


def kept(number: int, form: str, topic: str) -> StoredLesson:
    """What helps has the form, what misleads the topic: the words say both equally loud."""
    helping = [f"{form} {other}" for other in TOPICS if other != topic]
    misleading = [f"{other} {topic}" for other in FORMS if other != form]
    prompt = f"{form} {topic} please"
    task = LessonTask(
        journey=prompt,
        pool="poem",
        memory_id=identity(prompt),
        prompt=prompt,
        embedding=embedded(prompt),
        candidates=tuple(
            Candidate(id=identity(text), prompt=text, answer="Yes.", embedding=embedded(text))
            for text in (*helping, *misleading)
        ),
    )
    labels = [0.0] * len(helping) + [1.0] * len(misleading)
    return StoredLesson.of(number, task, Labels(tuple(labels), "json", Usage()))


TRAINED = [(form, topic) for form, topic in product(FORMS, TOPICS[:4])] * 8
LEARNT = [kept(10 * (place // 9) + place % 9 + 1, *pair) for place, pair in enumerate(TRAINED)]
HELD_OUT = [kept(10 * (place + 1), *pair) for place, pair in enumerate(product(FORMS, TOPICS[4:]))]
POOL = PoolRecord(LEARNT, HELD_OUT, [])
TEXTS = {
    identity(text): text
    for form, topic in product(FORMS, TOPICS)
    for text in (f"{form} {topic}", f"{form} {topic} please")
}


class Deaf(WordEncoder):
    """Hears nothing but the last word."""

    def encode(self, texts):  # type: ignore[no-untyped-def]
        return super().encode([text.removesuffix(" please").split()[-1] for text in texts])


@pytest.fixture(autouse=True)
def no_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    def ndcg(before: Encoder, after: Encoder) -> Figure:
        assert not isinstance(before, Deaf)
        return Figure(before=0.9, after=0.5 if isinstance(after, Deaf) else 0.9, error=0.01)

    monkeypatch.setattr(checking, "ndcg", ndcg)


def test_the_new_encoder_is_marked_with_what_is_learnt_anew_and_the_old_one_as_it_is_in_use() -> None:
    words = WordEncoder()
    learnt = relearn(LEARNT, [], words.dimension)

    untrained = check(words, WordEncoder("other"), {"poem": POOL}, TEXTS, {})
    found = check(words, WordEncoder("other"), {"poem": POOL}, TEXTS, {"poem": learnt.adapter()})

    ndcg = found.held_out.ndcg
    assert found.held_out.lessons == len(HELD_OUT)
    assert ndcg.after == pytest.approx(untrained.held_out.ndcg.after)
    assert ndcg.before == pytest.approx(ndcg.after, abs=0.02)
    assert ndcg.before > untrained.held_out.ndcg.before + 0.05
    assert found.learnt["poem"].state.weights == pytest.approx(learnt.state.weights, abs=1e-2)
    assert found.passed


def test_an_encoder_that_ranks_worse_does_not_pass() -> None:
    words = WordEncoder()
    learnt = relearn(LEARNT, [], words.dimension)

    found = check(words, Deaf("deaf"), {"poem": POOL}, TEXTS, {"poem": learnt.adapter()})

    assert found.held_out.worse
    assert (found.probe.before, found.probe.after) == (0.9, 0.5)
    assert not found.passed


def said(by: str, helped: float, weight: float = 1.0, of: str = "ada", text: str = "haiku whale") -> Evidence:
    memory = UsedMemory(id=identity(text), embedding=embedded(text), submitter=of)
    return Evidence(
        by=by, source="outcome", text="a haiku", prompt=embedded("a haiku"), memory=memory,
        helped=helped, weight=weight, at=1,
    )  # fmt: skip


def test_evidence_gets_the_vectors_of_the_new_encoder_and_goes_with_its_memory() -> None:
    deaf, text = Deaf("deaf"), "haiku whale"
    record = PoolRecord([], [], [said("bob", 1.0)])

    moved = record.with_vectors(deaf, {identity(text): deaf.encode([text])[0]})

    (one,) = moved.evidence
    assert np.array_equal(one.prompt.unpack(), deaf.encode(["a haiku"])[0])
    assert np.array_equal(one.memory.embedding.unpack(), deaf.encode([text])[0])
    assert one.prompt.encoder == "deaf"
    assert record.with_vectors(deaf, {}).evidence == []


def test_the_encoder_is_trained_on_sure_answers_that_were_right_and_on_nobodys_own_praise() -> None:
    texts = [f"{form} {topic}" for form, topic in product(FORMS, TOPICS)]
    right = [said("bob", 1.0, text=text) for text in texts]
    others = [
        *(said("bob", 0.0, of="ada", text=f"{text} please") for text in texts),
        *(said("cleo", 1.0, weight=0.3, text=text) for text in texts),
        *(said("ada", 1.0, of="ada", text=text) for text in texts),
    ]

    found = list(PoolRecord([], [], [*right, *others]).as_texts(TEXTS))

    assert 0.6 * len(texts) < len(found) < len(texts), "one in ten or so is held out"
    assert {one.documents[0] for one in found} <= set(texts)
    assert list(PoolRecord([], [], others).as_texts(TEXTS)) == []


SAME = Figure(before=0.7, after=0.69, error=0.02)
FALLS = Figure(before=0.7, after=0.67, error=0.02)


@pytest.mark.parametrize(
    ("first", "ndcg", "probe", "passed"),
    [
        (SAME, SAME, 0.891, True),
        (FALLS, SAME, 0.9, False),
        (SAME, FALLS, 0.9, False),
        (SAME, SAME, 0.889, False),
    ],
)
def test_held_out_lessons_may_lose_no_more_than_the_error_and_the_probe_a_hundredth(
    first: Figure, ndcg: Figure, probe: float, passed: bool
) -> None:
    found = Check(RankingComparison(first, ndcg, 20), Figure(before=0.9, after=probe), learnt={})

    assert found.passed is passed
