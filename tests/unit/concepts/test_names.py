from __future__ import annotations

import pytest

from memshare_concepts.names import clean, key, may_merge
from tests.support.golden_concepts import cards


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("neural network", "Neural Network"),
        ("  Neural\n network ", "Neural Network"),
        ("ｐａｔｅｎｔ", "Patent"),
        ("VQ-VAE", "VQ-VAE"),
        ("Sum of squares", "Sum of Squares"),
        ("p value", "p Value"),
        ("f(x) = x^2", "f(x) = x^2"),
        ("pass@k", "pass@k"),
        ("c", "c"),
        ("limerick", "Limerick"),
        ("气候", "气候"),
    ],
)
def test_a_name_is_tidied(written: str, shown: str) -> None:
    assert clean(written) == shown


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("", "a few words"),
        (" \n", "a few words"),
        ("--", "a few words"),
        ("a" * 500, "at most 60 characters"),
        ("Pat\u202eent", "printable"),
        ("Pat\x1b[31ment", "printable"),
    ],
)
def test_a_name_that_cannot_be_shown_is_refused_with_the_reason(written: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        clean(written)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Vq-Vae", "VQ-VAE"),
        ("K-Means", "k means"),
        ("Log‐Likelihood", "Log Likelihood"),
        ("Neural Networks", "neural network"),
        ("Countries", "Country"),
        ("Processes", "Process"),
        ("GANs", "GAN"),
        ("ｐａｔｅｎｔ", "Patent"),
    ],
)
def test_spellings_of_one_concept_have_one_key(one: str, other: str) -> None:
    assert key(one) == key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C", "c"),
        ("1950", "1950s"),
        ("GPT-3", "GPT-4"),
        ("Analysis", "Analysi"),
        ("Physics", "Physic"),
        ("Class", "Clas"),
        ("Gas", "Ga"),
    ],
)
def test_different_concepts_have_different_keys(one: str, other: str) -> None:
    assert key(one) != key(other)


def test_a_key_is_its_own_key() -> None:
    names = {str(name) for card in cards() for names in card["concepts"].values() for name in names}

    assert len(names) > 2800
    assert {name for name in names if key(key(name)) != key(name)} == set()


def test_spellings_of_the_flashcards_fold_into_fewer_concepts() -> None:
    names = {str(name) for card in cards() for names in card["concepts"].values() for name in names}
    by_case = {name.casefold() for name in names}
    by_key = {key(name) for name in names}

    assert len(names) - len(by_case) >= 54
    assert len(by_case) - len(by_key) >= 80


@pytest.mark.parametrize(
    ("name", "may"), [("Patent", True), ("GPT-4", False), ("C", False), ("Vitamin C", False), ("X-Ray", False)]
)
def test_names_with_digits_or_single_letters_are_never_merged_by_meaning(name: str, may: bool) -> None:
    assert may_merge(name) is may
