"""A text that a person corrects, and corrects back: what was written from it, and says by now what it does or not."""

from __future__ import annotations

import pytest

from memshare_memory.curate.curate import Curate
from memshare_memory.curate.requests import Edit, NewMemory
from memshare_memory.memory import Memory
from memshare_memory.recall.recall import Recall
from tests.support.memories import remembered

MONDAYS = "The ferry Cormoran crosses the sound on Monday evenings at seven."
WEDNESDAYS = "The ferry Cormoran crosses the sound on Wednesday evenings at seven."
ULLA, JONAS = "Ulla Brennecke keeps the keys in the tower.", "Jonas Wirth keeps the keys in the tower."
ASKED = "Who keeps the keys of Fort Adler?"


def brought(curate: Curate, prompt: str | None, answer: str) -> Memory:
    kind = "knowledge" if prompt is None else "limerick"
    [added] = curate.add([NewMemory(pool="poem", prompt=prompt, answer=answer, kind=kind)])
    return curate.get(added)


def wrote(recall: Recall, source: Memory, answer: str) -> Memory:
    """An answer whose agent was shown a memory."""
    memory, _ = remembered(f"A task: {answer}", answer=answer, parents=(source.id,), task_id=answer)
    recall.store.put([(memory, recall.vectors([memory])[0])])
    return memory


@pytest.mark.parametrize("answer", [f"Take the boat. {WEDNESDAYS}", "Go on a Wednesday.", "In the middle of the week."])
def test_an_answer_that_was_kept_is_not_stale_once_its_statement_has_the_text_again_that_it_was_written_from(
    curate: Curate, recall: Recall, answer: str
) -> None:
    statement = brought(curate, None, WEDNESDAYS)
    child = wrote(recall, statement, answer)

    curate.edit(Edit(id=statement.id, answer=MONDAYS))
    assert curate.get(child.id).status == "stale"
    curate.edit(Edit(id=child.id, status="active"))
    curate.edit(Edit(id=statement.id, answer=WEDNESDAYS))
    assert curate.get(child.id).status == "active"

    curate.edit(Edit(id=statement.id, answer=MONDAYS))
    assert curate.get(child.id).status == "stale"
    curate.edit(Edit(id=child.id, status="active"))
    curate.edit(Edit(id=statement.id, answer="It never crosses."))
    assert curate.get(child.id).status == "stale"
    curate.edit(Edit(id=statement.id, answer=WEDNESDAYS))
    assert curate.get(child.id).status == "active"


def test_an_answer_that_says_what_its_statement_says_only_now_is_not_stale_and_one_that_it_denies_is(
    curate: Curate, recall: Recall
) -> None:
    statement = brought(curate, None, WEDNESDAYS)
    right, wrong = (wrote(recall, statement, answer) for answer in (f"No: {MONDAYS}", f"Yes: {WEDNESDAYS}"))
    dogs = brought(curate, None, "Dogs are allowed.")
    denied = wrote(recall, dogs, "Dogs are allowed on the upper deck.")

    curate.edit(Edit(id=statement.id, answer=MONDAYS))
    curate.edit(Edit(id=dogs.id, answer="Dogs are not allowed on the upper deck."))

    assert [curate.get(one.id).status for one in (right, wrong, denied)] == ["active", "stale", "stale"]


def test_what_follows_the_answer_of_a_pair_is_stale_once_that_was_corrected_until_that_is_undone(
    curate: Curate, recall: Recall
) -> None:
    pair = brought(curate, ASKED, ULLA)
    follows = wrote(recall, pair, f"At the fort: {ULLA}")
    by_another = wrote(recall, follows, f"They say: at the fort {ULLA}")
    ignores, corrected = wrote(recall, pair, "Nobody can say."), wrote(recall, pair, f"Ask him: {JONAS}")
    in_both = wrote(recall, pair, "She keeps the keys in the tower.")
    each = (follows, by_another, ignores, corrected, in_both)

    curate.edit(Edit(id=pair.id, answer=JONAS))
    assert [curate.get(one.id).status for one in each] == ["stale", "stale", "active", "active", "active"]
    assert [cause.became for cause in curate.get(by_another.id).because] == ["changed"]

    assert curate.edit(Edit(id=pair.id, answer=ULLA)).active_again == 2
    assert {curate.get(one.id).status for one in each} == {"active"}


@pytest.mark.parametrize(
    ("edit", "status"),
    [
        ({"prompt": "Where are the keys of Fort Adler?"}, "active"),
        ({"answer": f" {ULLA.upper().rstrip('.')} "}, "active"),
        ({"answer": "Keys in the tower keeps Ulla Brennecke the."}, "stale"),
    ],
)
def test_an_edit_of_the_prompt_of_a_pair_or_of_case_and_spaces_makes_nothing_stale(
    curate: Curate, recall: Recall, edit: dict[str, str], status: str
) -> None:
    pair = brought(curate, ASKED, ULLA)
    child = wrote(recall, pair, f"At the fort: {ULLA}")

    curate.edit(Edit(id=pair.id, **edit))

    assert curate.get(child.id).status == status
