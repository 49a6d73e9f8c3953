from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memshare_concepts.concept_graph import ConceptGraph
from memshare_concepts.decisions import Aliases, Merge
from tests.support.golden_concepts import card_id, levels

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def merge(of: str, into: str) -> Merge:
    return Merge(of=of, into=into, at=NOW, by="ada")


def test_a_merged_name_means_the_other_concept() -> None:
    aliases = Aliases([merge("Variational Autoencoders", "VAE"), merge("VAE", "Autoencoder")])

    assert aliases.key("variational autoencoder") == aliases.key("Autoencoder") == "autoencoder"
    assert aliases.merges()[0].by == "ada"


def test_a_merge_that_was_undone_is_as_if_never_made() -> None:
    aliases = Aliases([merge("VAE", "Autoencoder")])

    undone = aliases.undo("vaes")

    assert undone == merge("VAE", "Autoencoder")
    assert aliases.key("VAE") == "vae"
    assert aliases.merges() == ()


@pytest.mark.parametrize(("of", "into"), [("VAE", "VAEs"), ("Autoencoder", "VAE"), ("VAE", "Model")])
def test_what_is_one_concept_already_cannot_be_merged(of: str, into: str) -> None:
    aliases = Aliases([merge("VAE", "Autoencoder")])

    with pytest.raises(ValueError, match="already"):
        aliases.add(merge(of, into))


def test_what_was_not_merged_cannot_be_split() -> None:
    with pytest.raises(ValueError, match="'Patent' was not merged"):
        Aliases().undo("Patent")


def test_a_merge_moves_every_count_and_a_split_moves_them_back() -> None:
    memories = {card_id(number): levels(number) for number in range(540)}
    aliases = Aliases()
    graph = ConceptGraph(memories, key=aliases.key)
    before = graph.count("Transformer"), graph.count("Attention"), graph.vector("Attention")

    of, into = graph.memories("Attention"), graph.memories("Transformer")
    aliases.add(merge("Attention", "Transformer"))
    for memory in of:
        graph.add(memory, memories[memory])
    merged = ConceptGraph(memories, key=aliases.key)

    assert graph.count("Attention") == graph.count("Transformer") == len({*of, *into}) > before[0]
    assert graph.vector("Transformer") == merged.vector("Transformer")
    assert graph.concepts() == merged.concepts()

    changed = graph.memories("Transformer")
    aliases.undo("Attention")
    for memory in changed:
        graph.add(memory, memories[memory])

    assert (graph.count("Transformer"), graph.count("Attention"), graph.vector("Attention")) == before
