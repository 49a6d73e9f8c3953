from __future__ import annotations

from memshare.demo.play import Played
from memshare.demo.summary import Group, summarise


def played(
    name: str,
    prompt: str | None = None,
    *,
    score: float | None = 80,
    accepted: bool = False,
    shown: tuple[str, ...] = (),
) -> Played:
    return Played(
        name=name,
        task_id=name,
        agent="poem",
        kind="limerick",
        prompt=prompt or name,
        answer="There was",
        model="offline",
        score=score,
        accepted=accepted,
        shown=tuple((one, 0.5) for one in shown),
        fault=None if score is not None else "gave up",
    )


def test_grades_with_and_without_memories_are_compared() -> None:
    summary = summarise(
        [
            played("task 1", score=60),
            played("task 2", score=71, accepted=True),
            played("task 3", score=90.04, accepted=True, shown=("seed 1",)),
        ]
    )

    assert summary.without == Group(tasks=2, mean_score=65.5, accepted=1)
    assert summary.with_memories == Group(tasks=1, mean_score=90.0, accepted=1)


def test_the_tasks_that_were_asked_again_are_compared_with_themselves() -> None:
    summary = summarise(
        [
            played("task 1", "A lamp", score=50),
            played("task 2", "A shoe", score=90, shown=("task 1",)),
            played("task 1 again", "A lamp", score=88, accepted=True, shown=("task 2",)),
        ]
    )

    assert summary.first == Group(tasks=1, mean_score=50, accepted=0)
    assert summary.again == Group(tasks=1, mean_score=88, accepted=1)


def test_a_task_without_a_grade_is_counted_and_left_out_of_the_mean() -> None:
    summary = summarise([played("task 1", score=None), played("task 2", score=70)])

    assert summary.without == Group(tasks=2, mean_score=70, accepted=0)
    assert summary.with_memories == Group(tasks=0, mean_score=0, accepted=0)


def test_users_are_tasks_that_were_shown_answers_of_tasks_and_not_of_seeds_alone() -> None:
    summary = summarise(
        [
            played("task 1", accepted=True),
            played("task 2", accepted=True, shown=("task 1", "seed 1")),
            played("task 3", shown=("task 1", "task 2")),
            played("task 4", accepted=True, shown=("seed 1", "seed 2")),
        ]
    )

    assert summary.users == 2
    assert summary.reused == 2
    assert summary.users_accepted == 1


def test_the_chain_is_the_longest_line_of_descent() -> None:
    summary = summarise(
        [
            played("task 1", shown=("seed 1",)),
            played("task 2", shown=("task 1",)),
            played("task 3", shown=("seed 2",)),
            played("task 4", shown=("task 3", "task 2", "seed 3")),
        ]
    )

    assert summary.chain == ("seed 1", "task 1", "task 2", "task 4")


def test_without_descent_there_is_no_chain() -> None:
    assert summarise([played("task 1"), played("task 2")]).chain == ()
    assert summarise([]).chain == ()
