"""What was written from a statement follows it when it changes or goes."""

from __future__ import annotations

import time

import pytest
import redis

from memshare_broker.wire.grades import PROGRAM, Settlement
from memshare_broker.wire.messages import RegradePair
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.contradictions import Conflicts
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.curate.requests import ConflictDecision, Edit, Forget, NewMemory, RestoreForgotten
from memshare_memory.memory import Memory
from memshare_memory.people import WrongAnswer, note_wrong
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.retriever import Adapter
from tests.support.graded import as_pair, graded
from tests.support.memories import remembered

MONDAYS, TUESDAYS = "The museum is closed on Mondays.", "The museum is closed on Tuesdays."
QUESTION = "when is the museum closed"


@pytest.fixture
def statement(curate: Curate) -> Memory:
    [added] = curate.add([NewMemory(pool="poem", prompt=QUESTION, answer=MONDAYS, kind="knowledge")])
    return curate.get(added)


def wrote(recall: Recall, prompt: str, *parents: Memory, **fields: object) -> Memory:
    """An answer whose agent was shown these memories."""
    ids = tuple(parent.id for parent in parents)
    fields = {"answer": f"{prompt}: on Mondays.", "task_id": f"task {prompt}"} | fields
    memory, _ = remembered(prompt, parents=ids, **fields)
    recall.store.put([(memory, recall.vectors([memory])[0])])
    return memory


def shown(recall: Recall) -> list[str]:
    hits = recall.nearest("poem", QUESTION, recall.embed(QUESTION).unpack(), 10).hits
    return [hit.memory.answer for hit in hits]


@pytest.fixture(autouse=True)
def everybody_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown then depends on nothing but what is stale."""
    monkeypatch.setattr(Adapter, "proven", lambda *_: True)


def test_what_was_written_from_the_old_text_is_stale_and_not_shown_before_the_new_fact(
    curate: Curate, recall: Recall, statement: Memory
) -> None:
    derived = [wrote(recall, f"{QUESTION} {number}", statement) for number in range(3)]
    by_another = wrote(recall, f"{QUESTION} by another", derived[0])
    other = wrote(recall, f"{QUESTION} in another town", remembered("another parent")[0])
    hidden = wrote(recall, f"{QUESTION} hidden", statement, status="hidden")
    assert len(shown(recall)) == 6

    curate.edit(Edit(id=statement.id, answer=TUESDAYS))

    assert shown(recall) == [TUESDAYS, other.answer]
    assert {curate.get(one.id).status for one in (*derived, by_another)} == {"stale"}
    assert curate.get(hidden.id).status == "hidden"


def test_what_was_written_from_a_text_is_shown_again_once_the_statement_has_that_text_and_nothing_else_is(
    curate: Curate, recall: Recall, forgetting: Forgetting, statement: Memory
) -> None:
    [second] = curate.add([NewMemory(pool="poem", answer="Tickets are sold until noon.", kind="knowledge")])
    first = wrote(recall, f"{QUESTION} now", statement)
    by_first = wrote(recall, f"{QUESTION} by another", first)
    of_both = wrote(recall, f"{QUESTION} of both", statement, curate.get(second))
    curate.edit(Edit(id=statement.id, answer=TUESDAYS))
    forgetting.forget(Forget(ids=(second,)))
    then = wrote(recall, f"{QUESTION} then", statement, created=time.time())
    known = curate.get(by_first.id)
    late = wrote(recall, f"{QUESTION} late", statement, created=time.time(), status="stale", because=known.because)
    each = (first, by_first, of_both, then, late)

    between = curate.edit(Edit(id=statement.id, answer="It is never closed."))
    assert (between.active_again, {curate.get(one.id).status for one in each}) == (0, {"stale"})

    back = curate.edit(Edit(id=statement.id, answer=MONDAYS))
    assert (back.active_again, curate.get(back.id).answer) == (2, MONDAYS)
    assert [curate.get(one.id).status for one in each] == ["active", "active", "stale", "stale", "stale"]
    assert [one.became for one in curate.get(of_both.id).because] == ["forgotten"]

    assert curate.edit(Edit(id=statement.id, answer=TUESDAYS)).active_again == 1
    assert [curate.get(one.id).status for one in each] == ["stale", "stale", "stale", "active", "stale"]


def test_an_edit_of_a_pair_makes_nothing_stale_that_does_not_follow_it(
    curate: Curate, recall: Recall, statement: Memory
) -> None:
    pair = wrote(recall, "a verse", statement)
    child = wrote(recall, "another verse", pair, answer="Nobody can say.")

    curate.edit(Edit(id=statement.id, status="active"))
    curate.edit(Edit(id=pair.id, answer="It is changed."))

    assert (curate.get(pair.id).status, curate.get(child.id).status) == ("active", "active")


def test_a_stale_memory_is_shown_again_once_a_person_keeps_or_rewrites_it(
    curate: Curate, recall: Recall, statement: Memory
) -> None:
    kept, rewritten = wrote(recall, f"{QUESTION} kept", statement), wrote(recall, f"{QUESTION} rewritten", statement)
    curate.edit(Edit(id=statement.id, answer=TUESDAYS))

    curate.edit(Edit(id=kept.id, status="active"))
    curate.edit(Edit(id=rewritten.id, answer="On Tuesdays."))

    assert set(shown(recall)) == {TUESDAYS, kept.answer, "On Tuesdays."}


@pytest.mark.parametrize(
    ("score", "known", "status"), [(90, (TUESDAYS,), "active"), (90, (), "stale"), (40, (), "hidden")]
)
def test_a_stale_memory_that_is_graded_again_is_active_or_hidden(
    curate: Curate,
    recall: Recall,
    pool: Pool,
    redis_client: redis.Redis,
    statement: Memory,
    score: float,
    known: tuple[str, ...],
    status: str,
) -> None:
    derived = wrote(recall, f"{QUESTION} now", statement)
    curate.edit(Edit(id=statement.id, answer=TUESDAYS))

    again = graded(recall, derived.prompt or "", derived.answer, score=score)
    SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False)).run(
        "regraded", as_pair(RegradePair, again, model=None, memory_id=derived.id, known=known)
    )

    assert curate.get(derived.id).status == status


@pytest.mark.parametrize(("whose", "ended"), [("ada", "replaced"), ("eve", "duplicate")])
def test_a_new_answer_takes_the_place_of_a_stale_one_of_the_same_submitter_that_says_the_same(
    curate: Curate, recall: Recall, pool: Pool, redis_client: redis.Redis, statement: Memory, whose: str, ended: str
) -> None:
    derived = wrote(recall, f"{QUESTION} now", statement, score=99, submitter=whose)
    curate.edit(Edit(id=statement.id, answer=TUESDAYS))

    again = graded(recall, derived.prompt or "", derived.answer.upper(), score=85)
    outcome = SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False)).run("later", again)

    assert outcome.ended == ended
    assert (derived.answer.upper() in shown(recall)) == (ended == "replaced")


def test_forgetting_a_statement_makes_stale_what_was_written_from_it_and_restoring_it_undoes_that(
    curate: Curate, forgetting: Forgetting, recall: Recall, statement: Memory
) -> None:
    trusted = wrote(recall, f"{QUESTION} now", statement)
    new = wrote(recall, f"{QUESTION} soon", trusted)

    forgetting.forget(Forget(ids=(statement.id,)))
    assert shown(recall) == []
    assert (curate.get(trusted.id).status, curate.get(new.id).status) == ("stale", "stale")

    forgetting.restore(RestoreForgotten(ids=(statement.id,)))
    assert (curate.get(trusted.id).status, curate.get(new.id).status) == ("active", "active")


def test_purging_a_statement_leaves_nothing_of_it_in_prompts(
    curate: Curate, forgetting: Forgetting, recall: Recall, statement: Memory
) -> None:
    derived = wrote(recall, f"{QUESTION} now", statement)

    forgetting.purge(Forget(ids=(statement.id,)))

    assert (shown(recall), curate.get(derived.id).status) == ([], "stale")


def test_what_was_derived_can_be_forgotten_without_the_statement_itself(
    forgetting: Forgetting, recall: Recall, statement: Memory
) -> None:
    derived = wrote(recall, f"{QUESTION} now", statement)
    by_another = wrote(recall, f"{QUESTION} soon", derived)
    which = Forget(ids=(statement.id,), only_children=True)
    assert (forgetting.preview(which).memories, forgetting.preview(which).derived) == (2, 2)

    assert set(forgetting.forget(which)) == {derived.id, by_another.id}

    assert shown(recall) == [MONDAYS]


def test_what_is_stale_because_of_two_statements_is_so_until_both_are_back(
    curate: Curate, forgetting: Forgetting, recall: Recall, statement: Memory
) -> None:
    [added] = curate.add([NewMemory(pool="poem", answer="The museum has a café.", kind="knowledge")])
    cafe = curate.get(added)
    both, one = wrote(recall, f"{QUESTION} both", statement, cafe), wrote(recall, f"{QUESTION} one", statement)

    forgetting.forget(Forget(ids=(statement.id, cafe.id)))
    assert {(cause.memory, cause.became) for cause in curate.get(both.id).because} == {
        (statement.id, "forgotten"),
        (cafe.id, "forgotten"),
    }

    forgetting.restore(RestoreForgotten(ids=(statement.id,)))
    assert (curate.get(both.id).status, curate.get(one.id).status) == ("stale", "active")
    forgetting.restore(RestoreForgotten(ids=(cafe.id,)))
    assert (curate.get(both.id).status, curate.get(both.id).because) == ("active", ())


def other_statement(curate: Curate) -> Memory:
    [added] = curate.add([NewMemory(pool="poem", prompt=QUESTION, answer=TUESDAYS, kind="knowledge")])
    return curate.get(added)


def say(curate: Curate, right: Memory | None, *memories: Memory) -> None:
    one, other = memories
    said = {"undecided": True} if right is None else {"contradict": True, "right": right.id}
    curate.decide(ConflictDecision(memories=(one.id, other.id), **said))


def test_what_was_written_from_a_statement_that_was_found_wrong_is_stale_until_that_is_taken_back(
    curate: Curate, recall: Recall, statement: Memory
) -> None:
    right = other_statement(curate)
    derived = wrote(recall, f"{QUESTION} now", statement)
    by_another = wrote(recall, f"{QUESTION} soon", derived)
    of_right = wrote(recall, f"{QUESTION} at last", right, answer=f"At last: {TUESDAYS}")
    before = wrote(recall, f"{QUESTION} before", statement, status="stale")
    all_of_them = (derived, by_another, of_right, before)

    say(curate, right, statement, right)
    assert [curate.get(one.id).status for one in all_of_them] == ["stale", "stale", "active", "stale"]
    [cause] = curate.get(by_another.id).because
    assert (cause.memory, cause.became) == (statement.id, "found wrong")

    say(curate, statement, statement, right)
    assert [curate.get(one.id).status for one in all_of_them] == ["active", "active", "stale", "stale"]

    say(curate, None, statement, right)
    assert [curate.get(one.id).status for one in all_of_them] == ["active", "active", "active", "stale"]


def test_what_follows_a_pair_that_was_found_wrong_is_stale_and_what_was_only_shown_it_is_not(
    curate: Curate, recall: Recall
) -> None:
    often, rarely = "Once a year is enough for a chain.", "Clean a chain every hundred miles."
    asked = [NewMemory(pool="poem", prompt=QUESTION, answer=one, kind="limerick") for one in (often, rarely)]
    wrong, right = (curate.get(one) for one in curate.add(asked))
    follows, ignores = (
        remembered(f"{QUESTION} {number}", answer=answer, parents=(wrong.id,), task_id=f"task {number}")[0]
        for number, answer in enumerate((often.lower(), "Nobody can say."))
    )
    by_another, _ = remembered("a last one", answer=f"Well: {often}", parents=(follows.id,), task_id="task 3")
    for one in (follows, ignores, by_another):
        recall.store.put([(one, recall.vectors([one])[0])])

    say(curate, right, wrong, right)
    assert [curate.get(one.id).status for one in (follows, by_another, ignores)] == ["stale", "stale", "active"]
    assert [cause.became for cause in curate.get(by_another.id).because] == ["found wrong"]

    say(curate, None, wrong, right)
    assert [curate.get(one.id).status for one in (follows, by_another)] == ["active", "active"]


def test_what_follows_an_answer_that_was_called_wrong_is_stale_until_that_is_shown_again(
    curate: Curate, recall: Recall, redis_client: redis.Redis
) -> None:
    wrong = wrote(recall, QUESTION, answer="It is closed on all Tuesdays of the year.")
    child = wrote(recall, f"{QUESTION} now", wrong, answer="Now it is closed on all Tuesdays of the year.")
    other = wrote(recall, f"{QUESTION} soon", wrong, answer="Nobody can say.")
    about = {"memory": wrong.id, "pool": "poem", "prompt": QUESTION, "submitter": "anna", "by": "cleo", "journey": "j"}

    curate.edit(Edit(id=wrong.id, status="hidden"))  # as nothing more is said of it
    assert curate.get(child.id).status == "active"

    note_wrong(redis_client, wrong.answer, WrongAnswer(curated=True, hides=True, **about))
    curate.edit(Edit(id=wrong.id, status="hidden"))
    assert [curate.get(one.id).status for one in (child, other)] == ["stale", "active"]

    curate.edit(Edit(id=wrong.id, status="active"))
    assert [curate.get(one.id).status for one in (wrong, child)] == ["active", "active"]


def test_what_was_hidden_is_stale_once_it_is_shown_again_if_it_was_so_or_its_source_lost_since(
    curate: Curate, recall: Recall, statement: Memory
) -> None:
    right = other_statement(curate)
    before, since, kept = (wrote(recall, f"{QUESTION} {name}", statement) for name in ("before", "since", "kept"))
    curate.edit(Edit(id=since.id, status="hidden"))
    say(curate, right, statement, right)
    curate.edit(Edit(id=before.id, status="hidden"))
    curate.edit(Edit(id=kept.id, status="active"))  # a person speaks for it
    curate.edit(Edit(id=kept.id, status="hidden"))
    some = (before.id, since.id, kept.id)
    assert [curate.get(one).status for one in some] == ["hidden"] * 3

    for one in some:
        curate.edit(Edit(id=one, status="active"))

    assert [curate.get(one).status for one in some] == ["stale", "stale", "active"]
    assert [cause.became for cause in curate.get(since.id).because] == ["found wrong"]

    curate.edit(Edit(id=before.id, status="hidden"))
    say(curate, None, statement, right)
    assert [curate.get(one).status for one in some] == ["hidden", "active", "active"]
    curate.edit(Edit(id=before.id, status="active"))
    assert curate.get(before.id).status == "active"


def test_taking_a_decision_back_leaves_stale_what_is_so_for_another_reason_too(
    curate: Curate, forgetting: Forgetting, recall: Recall, statement: Memory
) -> None:
    right, third = other_statement(curate), remembered("a third", answer="Nobody knows.", kind="knowledge")[0]
    recall.store.put([(third, recall.vectors([third])[0])])
    derived, kept = (wrote(recall, f"{QUESTION} {name}", statement) for name in ("now", "kept"))
    say(curate, right, statement, right)
    curate.edit(Edit(id=kept.id, status="active"))
    say(curate, third, statement, third)
    assert curate.get(kept.id).status == "active"

    say(curate, None, statement, right)
    assert curate.get(derived.id).status == "stale"
    forgetting.forget(Forget(ids=(statement.id,)))
    forgetting.restore(RestoreForgotten(ids=(statement.id,)))
    assert [cause.became for cause in curate.get(derived.id).because] == ["found wrong"]
    say(curate, None, statement, third)
    assert curate.get(derived.id).status == "active"


def test_the_statement_that_is_right_is_shown_though_it_was_written_from_the_other(
    curate: Curate, recall: Recall, statement: Memory
) -> None:
    right = wrote(recall, QUESTION, statement, kind="knowledge")

    say(curate, right, statement, right)

    assert curate.get(right.id).status == "active"
    [(_, _, rivals)] = curate.judge([statement.id])
    assert rivals == {right.id: "wrong"}


@pytest.mark.parametrize(
    ("model", "known", "status"),
    [
        (PROGRAM, (), "stale"),
        (PROGRAM, (TUESDAYS,), "stale"),
        ("scripted", (), "stale"),
        ("scripted", (TUESDAYS,), "active"),
    ],
)
def test_a_grade_that_does_not_know_what_is_right_shows_nothing_again_that_rests_on_what_is_wrong(
    curate: Curate, recall: Recall, pool: Pool, redis_client: redis.Redis, statement: Memory,
    model: str, known: tuple[str, ...], status: str,
) -> None:  # fmt: skip
    derived = wrote(recall, f"{QUESTION} now", statement)
    say(curate, other_statement(curate), curate.get(statement.id), other_statement(curate))

    again = graded(recall, derived.prompt or "", derived.answer)
    again = again.model_copy(update={"score": again.score.model_copy(update={"model": model})})
    settle = SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False))
    pair = as_pair(RegradePair, again, model=None, memory_id=derived.id, known=known)
    record = settle.run("regraded", pair).record

    now = curate.get(derived.id)
    assert (now.status, now.score, now.confirmed is None) == (status, 90, status == "stale")
    assert isinstance(record, Settlement)
    assert ("it stays stale" in record.reason) == (status == "stale")


@pytest.mark.parametrize("is_loser", [True, False])
def test_what_a_grade_hid_that_knew_a_decision_is_shown_again_once_that_is_taken_back(
    curate: Curate, recall: Recall, pool: Pool, redis_client: redis.Redis, statement: Memory, is_loser: bool
) -> None:
    derived = wrote(recall, f"{QUESTION} now", statement)
    other, hidden = other_statement(curate), statement if is_loser else derived
    say(curate, other, curate.get(statement.id), other)
    settle = SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False))
    low = graded(recall, hidden.prompt or "", hidden.answer, score=10)
    settle.run("regraded", as_pair(RegradePair, low, model=None, memory_id=hidden.id, known=(other.answer,)))
    assert (curate.get(hidden.id).status, curate.get(hidden.id).score) == ("hidden", 10)

    say(curate, None, curate.get(statement.id), other)

    assert (curate.get(hidden.id).status, curate.get(hidden.id).score) == ("active", None)
    assert curate.get(hidden.id).why_hidden is None


@pytest.mark.parametrize("is_loser", [True, False])
def test_no_new_answer_takes_the_place_of_what_a_person_found_wrong_or_what_rests_on_that(
    curate: Curate, recall: Recall, pool: Pool, redis_client: redis.Redis, is_loser: bool
) -> None:
    wrong = wrote(recall, QUESTION, score=85, submitter="ada")
    right = wrote(recall, QUESTION, answer=TUESDAYS)
    derived = wrote(recall, f"{QUESTION} now", wrong, answer=f"Now {wrong.answer}", score=85, submitter="ada")
    say(curate, right, wrong, right)
    said = wrong if is_loser else derived

    again = graded(recall, said.prompt or "", said.answer.upper(), score=95)
    outcome = SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False)).run("later", again)

    assert outcome.ended == "duplicate"


def test_what_says_what_is_right_is_not_stale_though_it_was_written_from_what_was_found_wrong(
    curate: Curate, recall: Recall
) -> None:
    wrong, right = (wrote(recall, QUESTION, answer=f"The fee is {fee} euros.") for fee in (12, 14))
    stale, staying = (
        wrote(recall, f"{QUESTION} {fee}", wrong, answer=f"The fee is {fee} euros, and dogs are free.")
        for fee in (12, 14)
    )

    say(curate, right, wrong, right)

    assert [curate.get(one.id).status for one in (stale, staying)] == ["stale", "active"]


@pytest.mark.parametrize(
    ("wrong", "right", "answer"),
    [
        (
            "The Kelpa museum opens at 9 in the morning.",
            "The Kelpa museum opens at 10 in the morning.",
            "The museum lets you in from 10 on in the morning.",
        ),
        (
            "The lighthouse is open on Sundays from 10 to 16.",
            "The lighthouse is open on Sundays from 11 to 15 only.",
            "Come to the lighthouse on a Sunday between 11 and 15.",
        ),
    ],
)
def test_a_decision_makes_nothing_stale_that_says_in_other_words_the_number_that_is_right(
    curate: Curate, recall: Recall, pool: Pool, redis_client: redis.Redis, wrong: str, right: str, answer: str
) -> None:
    ids = curate.add([NewMemory(pool="poem", answer=text) for text in (wrong, right)])
    stage = SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False))
    kept = {}
    for said in (answer, wrong.replace("is ", "was ").replace("opens", "opened")):
        done = stage.run(said, graded(recall, f"When may I come? {said[:9]}", said, journey=said, shown=ids)).record
        assert isinstance(done, Settlement)
        assert done.memory_id
        kept[said] = done.memory_id

    say(curate, curate.get(ids[1]), *map(curate.get, ids))

    assert [curate.get(one).status for one in kept.values()] == ["active", "stale"]
    assert curate.get(kept[answer]).parents == (ids[1],)


def test_copies_of_two_that_contradict_each_other_are_decided_alike_and_taken_back_alike(
    curate: Curate, recall: Recall, redis_client: redis.Redis
) -> None:
    wrong, copy, elsewhere = (wrote(recall, f"{QUESTION} {at}", answer=MONDAYS) for at in range(3))
    right, other = (wrote(recall, f"{QUESTION} {at}", answer=TUESDAYS) for at in range(2))
    child = wrote(recall, f"{QUESTION} then", copy, answer=f"Then: {MONDAYS}")
    links = Conflicts(redis_client)
    for one, another in ((wrong, right), (right, copy), (copy, other)):
        links.judge("poem", one.id, another.id, "contradict")

    say(curate, right, wrong, right)
    assert {(one.confirmed, one.right in (right.id, other.id)) for one in curate.conflicts("poem")} == {(True, True)}
    assert links.wrong("poem", [one.id for one in (wrong, copy, elsewhere)]) == {wrong.id, copy.id}
    assert curate.get(child.id).status == "stale"

    say(curate, None, wrong, right)
    assert {one.confirmed for one in curate.conflicts("poem")} == {False}
    assert curate.get(child.id).status == "active"


def test_what_says_the_same_to_the_same_question_is_decided_alike_though_nobody_compared_it(
    curate: Curate, recall: Recall, redis_client: redis.Redis
) -> None:
    wrong, right = (wrote(recall, QUESTION, answer=answer) for answer in (MONDAYS, TUESDAYS))
    copy = wrote(recall, f"{QUESTION.upper()}?", answer=f"{MONDAYS.rstrip('.')}!")
    elsewhere = wrote(recall, f"{QUESTION} And in May?", answer=MONDAYS)
    links = Conflicts(redis_client)
    links.judge("poem", wrong.id, right.id, "contradict")

    say(curate, right, wrong, right)
    assert links.wrong("poem", [one.id for one in (wrong, copy, elsewhere, right)]) == {wrong.id, copy.id}

    say(curate, None, wrong, right)
    assert links.wrong("poem", [wrong.id, copy.id]) == set()


@pytest.mark.parametrize("prompt", [QUESTION, None])
def test_what_says_later_what_lost_has_lost_too_until_that_is_taken_back(
    curate: Curate, redis_client: redis.Redis, prompt: str | None
) -> None:
    kind = "knowledge" if prompt is None else "limerick"
    both = [NewMemory(pool="poem", prompt=prompt, answer=one, kind=kind) for one in (MONDAYS, TUESDAYS)]
    wrong, right = map(curate.get, curate.add(both))
    links = Conflicts(redis_client)
    say(curate, right, wrong, right)

    given = [NewMemory(pool="poem", prompt=prompt and f"{prompt}?", answer=f"\u201c{MONDAYS}\u201d", kind=kind)]
    given.append(NewMemory(pool="poem", prompt="And the library?", answer=MONDAYS, kind=kind))
    copy, elsewhere = curate.add(given)

    assert links.wrong("poem", [wrong.id, copy, elsewhere, right.id]) == {wrong.id, copy}
    assert [one.memories for one in curate.conflicts("poem") if not one.confirmed] == []

    say(curate, None, wrong, right)
    assert links.wrong("poem", [wrong.id, copy]) == set()


def test_copies_of_two_that_are_both_right_are_so_too_also_later_until_that_is_taken_back(
    curate: Curate, recall: Recall, redis_client: redis.Redis
) -> None:
    one, elsewhere, other = (
        wrote(recall, f"{QUESTION} {at}", answer=answer) for at, answer in ((0, MONDAYS), (1, MONDAYS), (0, TUESDAYS))
    )
    links = Conflicts(redis_client)
    for each in (one, elsewhere):
        links.judge("poem", each.id, other.id, "contradict")

    curate.decide(ConflictDecision(memories=(one.id, other.id), contradict=False))
    [copy] = curate.add([NewMemory(pool="poem", prompt=f"{QUESTION} 0?", answer=MONDAYS.upper(), kind="limerick")])
    assert curate.conflicts("poem") == []
    assert links.rivals("poem", [other.id], dismissed=True)[other.id].keys() == {one.id, elsewhere.id, copy}

    say(curate, None, one, other)
    assert len(curate.conflicts("poem")) == 3


@pytest.mark.parametrize("answer", [MONDAYS.upper(), MONDAYS.rstrip("."), f'"{MONDAYS}"'])
def test_a_task_does_not_bring_back_what_lost_with_another_full_stop(
    curate: Curate, recall: Recall, pool: Pool, redis_client: redis.Redis, answer: str
) -> None:
    wrong, right = (wrote(recall, QUESTION, answer=one, submitter="ada") for one in (MONDAYS, TUESDAYS))
    say(curate, right, wrong, right)

    outcome = SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False)).run(
        "later", graded(recall, QUESTION, answer, score=99)
    )

    assert outcome.ended == "duplicate"


@pytest.mark.parametrize(
    ("wrong", "right", "written"),
    [
        ("Arne Lund", "Ida Moe", "The baker of the Rye bakery is Arne Lund."),
        ("1234", "5678", "The code is 1234."),
    ],
)
def test_what_says_in_a_sentence_a_short_answer_that_was_found_wrong_is_stale(
    curate: Curate, recall: Recall, wrong: str, right: str, written: str
) -> None:
    loser, winner = (
        wrote(recall, f"What is it {when}?", answer=one) for when, one in (("now", wrong), ("so far", right))
    )
    child = wrote(recall, "So what is it?", loser, answer=written)

    say(curate, winner, loser, winner)
    assert curate.get(child.id).status == "stale"

    say(curate, None, loser, winner)
    assert curate.get(child.id).status == "active"


def test_what_was_written_from_a_statement_stays_where_an_edit_only_adds_words(curate: Curate, recall: Recall) -> None:
    [hut] = curate.add([NewMemory(pool="poem", answer="The hut has 12 beds.")])
    child = wrote(recall, "How many beds?", curate.get(hut), answer="There are 12 beds in the hut.")

    curate.edit(Edit(id=hut, answer="The hut has 12 beds and a garden."))
    assert curate.get(child.id).status == "active"

    curate.edit(Edit(id=hut, answer="The hut has 15 beds and a garden."))
    assert curate.get(child.id).status == "stale"
