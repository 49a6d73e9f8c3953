"""What it means to forget memories: by id, submitter or task, with and without what was derived from them."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from memshare_broker.errors import BadInput
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.curate.requests import Forget, NewMemory
from memshare_memory.memory import Memory, Mode
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Hit, Store, Where
from tests.support.memories import remembered


def memory(prompt: str, **fields: object) -> Memory:
    return remembered(prompt, **fields)[0]


def found(recall: Recall, text: str, k: int, mode: Mode) -> list[Hit]:
    """What an agent with this task would be shown."""
    return recall.nearest("poem", text, recall.embed(text).unpack(), k, mode).hits


def left(store: Store) -> set[str | None]:
    return {one.prompt for one in store.page(Where(), 1000).memories}


def family(curate: Curate) -> list[UUID]:
    """A chain of three, each shown the one before it, and a stranger; returns their ids."""
    first = memory("first", submitter="mallory", task_id="task-1")
    second = memory("second", parents=(first.id,), submitter="ada", task_id="task-2")
    third = memory("third", parents=(second.id,), submitter="bob", task_id="task-3")
    return curate.restore([first, second, third, memory("stranger", submitter="ada")])


def test_memories_are_forgotten_by_id(store: Store, curate: Curate, forgetting: Forgetting, recall: Recall) -> None:
    first, _, third, _ = family(curate)

    assert set(forgetting.forget(Forget(ids=(first, third, first)))) == {first, third}

    assert left(store) == {"second", "stranger"}
    assert found(recall, "first", 1, "hybrid")[0].memory.prompt != "first"


def test_all_memories_of_a_submitter_are_forgotten(store: Store, curate: Curate, forgetting: Forgetting) -> None:
    _, second, _, stranger = family(curate)

    assert set(forgetting.forget(Forget(submitter="ada"))) == {second, stranger}

    assert left(store) == {"first", "third"}


def test_the_memory_of_a_task_is_forgotten(store: Store, curate: Curate, forgetting: Forgetting) -> None:
    _, second, _, _ = family(curate)

    assert forgetting.forget(Forget(task_id="task-2")) == [second]

    assert left(store) == {"first", "third", "stranger"}


@pytest.mark.parametrize("which", [{"submitter": "mallory"}, {"task_id": "task-1"}, {"ids": 1}])
def test_with_children_everything_derived_from_a_memory_goes_too(
    store: Store, curate: Curate, forgetting: Forgetting, which: dict[str, object]
) -> None:
    first, second, third, _ = family(curate)
    chosen = {"ids": (first,)} if "ids" in which else which

    forgotten = forgetting.forget(Forget.model_validate({**chosen, "with_children": True}))

    assert set(forgotten) == {first, second, third}
    assert left(store) == {"stranger"}


def test_memories_that_are_each_others_children_are_forgotten_once(
    store: Store, curate: Curate, forgetting: Forgetting
) -> None:
    one, other = memory("one"), memory("other")
    curate.restore(
        [one.model_copy(update={"parents": (other.id,)}), other.model_copy(update={"parents": (one.id, other.id)})]
    )

    forgotten = forgetting.forget(Forget(ids=(one.id,), with_children=True))

    assert sorted(forgotten) == sorted([one.id, other.id])
    assert left(store) == set()


def test_more_memories_than_fit_one_page_are_forgotten_together(
    store: Store, curate: Curate, forgetting: Forgetting
) -> None:
    lamps = [f"lamp number{number}" for number in range(450)]
    curate.add([NewMemory(pool="poem", prompt=lamp, answer="Yes.", submitter="mallory") for lamp in lamps])
    curate.add([NewMemory(pool="poem", prompt="old shoe", answer="Yes.")])

    assert len(forgetting.forget(Forget(submitter="mallory"))) == 450

    assert left(store) == {"old shoe"}


def test_with_an_unknown_id_nothing_is_forgotten(store: Store, curate: Curate, forgetting: Forgetting) -> None:
    first, *_ = family(curate)
    unknown = uuid4()

    with pytest.raises(BadInput, match=f"No memory has the id '{unknown}'; nothing was forgotten"):
        forgetting.forget(Forget(ids=(first, unknown), submitter="ada", with_children=True))

    assert left(store) == {"first", "second", "third", "stranger"}


def test_a_submitter_without_memories_has_nothing_to_forget(
    store: Store, curate: Curate, forgetting: Forgetting
) -> None:
    family(curate)

    assert forgetting.forget(Forget(submitter="nobody")) == []

    assert len(left(store)) == 4


def test_forgetting_needs_to_be_told_what(store: Store, curate: Curate, forgetting: Forgetting) -> None:
    family(curate)

    with pytest.raises(BadInput, match="Say what to forget"):
        forgetting.forget(Forget(with_children=True))

    assert len(left(store)) == 4
