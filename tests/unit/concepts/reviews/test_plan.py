"""What a person reviews on one day."""

from __future__ import annotations

from uuid import UUID

from memshare_concepts.reviews import CardState, ReviewPlan, plan

NOW = 1_000_000.0
A, B, C, D, E = (UUID(int=number) for number in range(1, 6))


def known(probability: float, due: float = NOW - 1, *, learnt: bool = True) -> CardState:
    return CardState(due, probability, stability=3, learnt=learnt)


def of(
    standings: dict[UUID, CardState],
    clusters: dict[UUID, int],
    *,
    suggested: tuple[UUID, ...] = (),
    seen: tuple[UUID, ...] = (),
    together: bool = False,
) -> ReviewPlan:
    return plan(standings, suggested, clusters, seen, NOW, most_new=1, together=together)


def test_what_is_likeliest_to_be_forgotten_comes_first_and_what_is_not_due_does_not_come() -> None:
    found = of({A: known(0.8), B: known(0.3), C: known(0.95, NOW + 1)}, {})

    assert found.due == (B, A)


def test_two_memories_of_one_cluster_do_not_come_on_one_day() -> None:
    found = of({A: known(0.8), B: known(0.3)}, {A: 7, B: 7})

    assert (found.due, found.later) == ((B,), (A,))


def test_a_memory_waits_for_another_day_when_one_of_its_cluster_was_reviewed_today() -> None:
    found = of({A: known(0.8)}, {A: 7, C: 7}, seen=(C,))

    assert (found.due, found.later) == ((), (A,))


def test_a_memory_in_its_first_minutes_comes_back_on_the_same_day() -> None:
    assert of({A: known(0.8, learnt=False)}, {A: 7}, seen=(A,)).due == (A,)


def test_three_due_memories_of_a_cluster_are_asked_by_one_question() -> None:
    standings = {A: known(0.8), B: known(0.3), C: known(0.5), D: known(0.6)}

    found = of(standings, {A: 7, B: 7, C: 7, D: 7}, together=True)

    assert found.together == ((B, C, D),)
    assert (found.due, found.later) == ((), (A,))


def test_what_is_not_learnt_yet_is_asked_alone() -> None:
    standings = {A: known(0.8), B: known(0.3), C: known(0.5, learnt=False)}

    assert of(standings, {A: 7, B: 7, C: 7}, together=True).together == ()


def test_new_memories_are_as_many_as_wanted_and_of_clusters_that_are_free() -> None:
    found = of({A: known(0.5)}, {A: 7, B: 7, C: 8, D: 9}, suggested=(B, C, D))

    assert found.new == (C,)


def test_memories_without_a_cluster_stand_in_nobodys_way() -> None:
    assert of({A: known(0.8), B: known(0.3)}, {}).due == (B, A)
