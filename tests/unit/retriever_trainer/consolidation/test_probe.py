from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from memshare_trainer.consolidation.finetune import ProbePair, ndcg, ndcg_each, pairs
from tests.support.word_encoder import WordEncoder

CATS = ProbePair(question="grey cats", statement="grey cats purr")
DOGS = ProbePair(question="dogs bark", statement="at night they bark")
FISH = ProbePair(question="bark dogs night", statement="dogs bark night")


class SameVectors:
    """An encoder that cannot tell any two texts apart."""

    name = "tests/same"
    dimension = 2

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.tile(np.array([1, 0], dtype=np.float32), (len(texts), 1))


def test_a_question_gains_1_for_its_statement_at_rank_1_and_less_further_down() -> None:
    second = 1 / math.log2(3)

    assert ndcg_each(WordEncoder(), [CATS, FISH]) == pytest.approx([1, 1])
    # "dogs bark" is nearer to the statement of the fish.
    assert ndcg_each(WordEncoder(), [CATS, DOGS, FISH]) == pytest.approx([1, second, 1])


def test_beyond_rank_10_a_question_gains_nothing() -> None:
    own = ProbePair(question="red", statement="blue")
    tenth = [ProbePair(question="green", statement="red green")] * 9
    eleventh = [ProbePair(question="green", statement="red green")] * 10

    gain = {
        count: float(ndcg_each(WordEncoder(), [own, *others]).sum()) for count, others in ((9, tenth), (10, eleventh))
    }

    # The others tie with each other, so each of them has the last rank of its kind.
    assert gain[9] - 9 / math.log2(10) == pytest.approx(1 / math.log2(11), abs=1e-5)
    assert gain[10] - 10 / math.log2(11) == pytest.approx(0, abs=1e-5)


def test_an_encoder_that_cannot_tell_texts_apart_has_nothing() -> None:
    assert ndcg(SameVectors(), SameVectors()).after == 0


def test_a_bag_of_words_does_not_pass_for_an_encoder() -> None:
    assert 0 < ndcg(WordEncoder(), WordEncoder()).after < 0.5


def test_no_text_is_in_the_probe_twice() -> None:
    texts = [text.casefold() for pair in pairs() for text in (pair.question, pair.statement)]

    assert len(pairs()) >= 80
    assert len(set(texts)) == len(texts)
