from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from memshare.retriever_trainer.consolidation import check as checking
from memshare.retriever_trainer.consolidation.check import Check, Figure, PoolLessons, check, encoded
from memshare.retriever_trainer.consolidation.finetune import TextLesson
from memshare.retriever_trainer.consolidation.relearn import relearn
from tests.support.word_encoder import WordEncoder

FORMS = ("haiku", "recipe", "riddle", "letter")
TOPICS = ("whale", "tram", "bread", "snow", "comet", "tulip")


def lessons(topics: tuple[str, ...]) -> list[TextLesson]:
    """What helps has the form, what misleads the topic: the words say both equally loud."""
    return [
        TextLesson(
            f"{form} {topic} please",
            (*(f"{form} {other}" for other in TOPICS if other != topic), *(f"{o} {topic}" for o in FORMS if o != form)),
            (*(True for other in TOPICS if other != topic), *(False for o in FORMS if o != form)),
        )
        for form, topic in product(FORMS, topics)
    ]


POOL = PoolLessons(lessons(TOPICS[:4]) * 8, lessons(TOPICS[4:]))


class Deaf(WordEncoder):
    """Hears nothing but the last word."""

    def encode(self, texts):  # type: ignore[no-untyped-def]
        return super().encode([text.removesuffix(" please").split()[-1] for text in texts])


@pytest.fixture(autouse=True)
def no_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking.probe, "ndcg", lambda encoder: 0.5 if isinstance(encoder, Deaf) else 0.9)


def test_the_lessons_are_encoded_each_text_once() -> None:
    encoder = WordEncoder()

    (example, *_) = encoded(encoder, POOL.learnt)

    assert len(encoder.encoded) == len(set(encoder.encoded))
    assert example.query == pytest.approx(encoder.encode(["haiku whale please"])[0])
    assert example.documents.shape == (8, encoder.dimension)
    assert example.positive.tolist() == [True] * 5 + [False] * 3


def test_both_encoders_are_marked_with_what_their_adapters_have_learnt() -> None:
    words = WordEncoder()
    adapter = relearn(encoded(words, POOL.learnt), words.dimension)

    untrained = check(words, WordEncoder("other"), {"poem": POOL}, {})
    learnt = check(words, WordEncoder("other"), {"poem": POOL}, {"poem": adapter})

    assert learnt.held_out.before == learnt.held_out.after == untrained.held_out.after
    assert learnt.held_out.before > untrained.held_out.before + 0.1
    assert np.array_equal(learnt.adapters["poem"], adapter)
    assert learnt.passed


def test_an_encoder_that_ranks_worse_does_not_pass() -> None:
    words = WordEncoder()
    adapter = relearn(encoded(words, POOL.learnt), words.dimension)

    found = check(words, Deaf("deaf"), {"poem": POOL}, {"poem": adapter})

    assert found.held_out.after < found.held_out.before
    assert (found.probe.before, found.probe.after) == (0.9, 0.5)
    assert not found.passed


@pytest.mark.parametrize(
    ("held_out", "probe", "passed"),
    [((0.7, 0.7), (0.9, 0.881), True), ((0.7, 0.69), (0.9, 0.9), False), ((0.7, 0.8), (0.9, 0.879), False)],
)
def test_held_out_accuracy_must_not_fall_and_the_probe_by_no_more_than_two_hundredths(
    held_out: tuple[float, float], probe: tuple[float, float], passed: bool
) -> None:
    found = Check(Figure(before=held_out[0], after=held_out[1]), Figure(before=probe[0], after=probe[1]), adapters={})

    assert found.passed is passed
