from __future__ import annotations

from memshare_trainer.lesson_log import is_held_out, slot_of


def test_while_there_is_room_every_lesson_has_a_slot_of_its_own() -> None:
    learnt = [slot_of(number, 100, "poem") for number in range(1, 112) if not is_held_out(number)]
    held_out = [slot_of(number, 100, "poem") for number in range(10, 101, 10)]

    assert learnt == list(range(100))
    assert held_out == list(range(10))


def test_of_many_lessons_as_many_early_as_late_ones_stay() -> None:
    slots = {slot_of(number, 100, "poem"): number for number in range(1, 2001) if not is_held_out(number)}
    slots.pop(None)

    assert sorted(slots) == list(range(100))
    assert 35 <= sum(number <= 1000 for number in slots.values()) <= 65


def test_every_trainer_draws_the_same_and_every_pool_its_own() -> None:
    numbers = range(1, 500)

    assert [slot_of(n, 100, "poem") for n in numbers] == [slot_of(n, 100, "poem") for n in numbers]
    assert [slot_of(n, 100, "poem") for n in numbers] != [slot_of(n, 100, "logic") for n in numbers]
