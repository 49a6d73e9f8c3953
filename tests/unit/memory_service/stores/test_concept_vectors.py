from __future__ import annotations

import zlib

import pytest

from memshare.memory_service.stores.concept_vectors import document, query

CAT, DOG = zlib.crc32(b"cat"), zlib.crc32(b"dog")


def test_a_stored_vector_has_length_1_and_every_concept_once() -> None:
    found = document({-1: ["Cats", "Dog"], 0: ["cat"], 1: ["Pet", "Animal"]})

    assert {CAT, DOG} < set(found.indices)
    assert found.indices == sorted(set(found.indices))
    assert found.values == pytest.approx([0.5] * 4)


def test_concepts_of_the_best_hits_and_of_the_prompt_weigh_most() -> None:
    found = query([{0: ["Cat"]}, {0: ["Dog"]}, *[{0: ["Fox"]}] * 3, {0: ["Owl"]}], in_prompt=["dogs"])

    assert dict(zip(found.indices, found.values, strict=True)) == pytest.approx(
        {CAT: 1.0, DOG: 2.5**0.5, zlib.crc32(b"fox"): (1 / 3 + 1 / 4 + 1 / 5) ** 0.5}
    )
