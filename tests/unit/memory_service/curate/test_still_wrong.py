"""What a person called or found wrong stays so, whatever others do beside it, and comes back with that word alone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import pytest
import redis

from memshare_broker.delivery.hops import NextMessage
from memshare_broker.errors import BadInput
from memshare_broker.wire.lessons import Compared, ComparedPairs, CompareTask
from memshare_broker.wire.messages import Usage
from memshare_memory.admit.after import Lessons, note_compared
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.credibility_ranking import CredibilityRanking
from memshare_memory.contradictions import Conflicts
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.curate.requests import ConflictDecision, Edit, Forget, NewMemory, RestoreForgotten
from memshare_memory.memory import Memory
from memshare_memory.people import WrongAnswer, each_barred, no_longer_wrong, note_wrong
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.recall.retriever import Adapter, Retriever
from tests.support.graded import graded
from tests.support.memories import remembered
from tests.support.word_encoder import WordEncoder

QUESTION = "When is the museum closed"
MONDAYS, TUESDAYS = "It is closed on Mondays all the year.", "It is closed on Tuesdays from May on."
CallWrong = Callable[[Memory], None]


@pytest.fixture(autouse=True)
def everybody_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown then depends on what people said alone."""
    monkeypatch.setattr(Adapter, "proven", lambda *_: True)


@pytest.fixture
def wrote(recall: Recall) -> Callable[..., Memory]:
    def write(prompt: str, answer: str, *parents: Memory) -> Memory:
        fields = {"parents": tuple(one.id for one in parents), "task_id": f"task {prompt}"}
        memory, _ = remembered(prompt, answer=answer, **fields)
        recall.store.put([(memory, recall.vectors([memory])[0])])
        return memory

    return write


@pytest.fixture
def call_wrong(curate: Curate, redis_client: redis.Redis) -> CallWrong:
    def call(memory: Memory) -> None:
        note_wrong(redis_client, memory.answer, word_on(memory))
        curate.edit(Edit(id=memory.id, status="hidden"))

    return call


def word_on(memory: Memory, journey: str = "j") -> WrongAnswer:
    about = {"memory": memory.id, "pool": "poem", "prompt": memory.prompt or "", "submitter": "anna", "by": "cleo"}
    return WrongAnswer(curated=True, hides=True, journey=journey, **about)


def shown(recall: Recall) -> list[str]:
    hits = recall.nearest("poem", QUESTION, recall.embed(QUESTION).unpack(), 10).hits
    return [hit.memory.answer for hit in hits]


def say(curate: Curate, right: Memory | None, *memories: Memory) -> None:
    one, other = memories
    said = {"undecided": True} if right is None else {"contradict": True, "right": right.id}
    curate.decide(ConflictDecision(memories=(one.id, other.id), **said))


def statuses(curate: Curate, *memories: Memory) -> list[str]:
    return [curate.get(one.id).status for one in memories]


def test_a_decision_that_is_taken_back_leaves_stale_what_follows_an_answer_that_is_called_wrong(
    curate: Curate, wrote: Callable[..., Memory], call_wrong: CallWrong
) -> None:
    wrong, right = wrote(QUESTION, MONDAYS), wrote(QUESTION, TUESDAYS)
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", wrong)
    say(curate, right, wrong, right)
    call_wrong(wrong)
    assert statuses(curate, wrong, child) == ["hidden", "stale"]

    say(curate, None, wrong, right)

    assert statuses(curate, wrong, child) == ["hidden", "stale"]
    curate.edit(Edit(id=wrong.id, status="active"))
    assert statuses(curate, wrong, child) == ["active", "active"]


def test_what_was_called_wrong_while_it_lay_in_the_trash_comes_back_hidden(
    curate: Curate, forgetting: Forgetting, recall: Recall, redis_client: redis.Redis, wrote: Callable[..., Memory]
) -> None:
    wrong = wrote(QUESTION, MONDAYS)
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", wrong)
    forgetting.forget(Forget(ids=(wrong.id,)))
    note_wrong(redis_client, wrong.answer, word_on(wrong))

    forgetting.restore(RestoreForgotten(ids=(wrong.id,)))

    assert shown(recall) == []
    assert statuses(curate, wrong, child) == ["hidden", "stale"]


@pytest.mark.parametrize("how", ["called wrong", "lost", "forgotten", "reworded"])
def test_what_is_brought_back_is_stale_only_where_its_source_is_still_wrong(
    curate: Curate, forgetting: Forgetting, wrote: Callable[..., Memory], call_wrong: CallWrong, how: str
) -> None:
    wrong, right = wrote(QUESTION, MONDAYS), wrote(QUESTION, TUESDAYS)
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", wrong)
    if how == "lost":
        say(curate, right, wrong, right)
    elif how == "forgotten":
        call_wrong(wrong)
        forgetting.forget(Forget(ids=(wrong.id,)))
    else:
        call_wrong(wrong)
    forgetting.forget(Forget(ids=(child.id,)))
    forgetting.restore(RestoreForgotten(ids=(child.id,)))
    assert statuses(curate, child) == ["stale"]

    forgetting.forget(Forget(ids=(child.id,)))
    if how == "lost":
        say(curate, None, wrong, right)
    elif how == "forgotten":
        forgetting.restore(RestoreForgotten(ids=(wrong.id,)))
    changes = {"lost": {}, "reworded": {"answer": "Nobody knows when."}}.get(how, {"status": "active"})
    curate.edit(Edit(id=wrong.id, **changes))
    forgetting.restore(RestoreForgotten(ids=(child.id,)))

    assert statuses(curate, child) == ["stale" if how == "reworded" else "active"]
    assert (curate.get(child.id).because == ()) == (how != "reworded")


def test_what_a_person_found_wrong_stays_so_when_the_right_one_is_worded_otherwise(
    curate: Curate, wrote: Callable[..., Memory], redis_client: redis.Redis
) -> None:
    wrong, right = wrote(QUESTION, MONDAYS), wrote(f"{QUESTION} now", TUESDAYS)
    child = wrote(f"{QUESTION} then", f"Then: {MONDAYS}", wrong)
    links = Conflicts(redis_client)
    say(curate, right, wrong, right)

    curate.edit(Edit(id=right.id, answer=f"{TUESDAYS} Always."))
    assert links.wrong("poem", [wrong.id, right.id]) == {wrong.id}

    curate.edit(Edit(id=right.id, answer=MONDAYS.upper()))
    assert links.wrong("poem", [wrong.id, right.id]) == set(), "both say the same by now"
    assert statuses(curate, child) == ["active"]


def test_what_a_person_found_wrong_is_so_again_with_its_old_text(
    curate: Curate, wrote: Callable[..., Memory], redis_client: redis.Redis
) -> None:
    wrong, right = wrote(QUESTION, MONDAYS), wrote(f"{QUESTION} now", TUESDAYS)
    links = Conflicts(redis_client)
    say(curate, right, wrong, right)

    curate.edit(Edit(id=wrong.id, answer="Nobody knows when."))
    assert links.wrong("poem", [wrong.id, right.id]) == set()

    curate.edit(Edit(id=wrong.id, answer=MONDAYS.upper()))
    assert links.wrong("poem", [wrong.id, right.id]) == {wrong.id}


def test_a_text_that_is_back_is_compared_again_and_what_was_found_right_is_shown_until_it_was(
    pool: Pool, recall: Recall, encoder: WordEncoder, wrote: Callable[..., Memory], redis_client: redis.Redis
) -> None:
    sent: list[NextMessage] = []
    curate = Curate(pool, redis_client, sent.extend)
    ranked = Recall(recall.store, encoder, Retriever(redis_client, encoder), CredibilityRanking(redis_client))
    wrong, right = wrote(QUESTION, MONDAYS), wrote(QUESTION, TUESDAYS)
    say(curate, right, wrong, right)

    for answer in ("Sundays.", MONDAYS, "Sundays.", "Sundays, too."):
        curate.edit(Edit(id=wrong.id, answer=answer))
        assert shown(ranked) == [TUESDAYS], "it is not compared yet"

    tasks = [one.body for one in sent if isinstance(one.body, CompareTask)]
    assert [one.memory.answer for one in tasks] == ["Sundays.", "Sundays.", "Sundays, too."]
    assert len({one.journey for one in tasks}) == 3
    Conflicts(redis_client).judge("poem", wrong.id, right.id, "agree")
    assert shown(ranked) == ["Sundays, too."], "of two that may be true the shorter one"


def test_no_task_brings_back_what_a_person_found_wrong_and_forgot(
    curate: Curate, forgetting: Forgetting, recall: Recall, pool: Pool, redis_client: redis.Redis,
    wrote: Callable[..., Memory],
) -> None:  # fmt: skip
    wrong, right = wrote(QUESTION, MONDAYS), wrote(f"{QUESTION} now", TUESDAYS)
    say(curate, right, wrong, right)
    forgetting.forget(Forget(ids=(wrong.id,)))
    stage = SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False))

    done = stage.run("later", graded(recall, QUESTION, MONDAYS))

    assert (done.ended, shown(recall)) == ("not kept", [TUESDAYS])
    forgetting.restore(RestoreForgotten(ids=(wrong.id,)))
    assert Conflicts(redis_client).wrong("poem", [wrong.id]) == {wrong.id}


def test_an_import_does_not_show_again_what_is_stale_since(
    curate: Curate, wrote: Callable[..., Memory], call_wrong: CallWrong
) -> None:
    wrong = wrote(QUESTION, MONDAYS)
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", wrong)
    call_wrong(wrong)

    curate.restore([child])

    assert statuses(curate, child) == ["stale"]


def test_nobody_brings_in_what_was_called_wrong(
    curate: Curate, recall: Recall, wrote: Callable[..., Memory], call_wrong: CallWrong
) -> None:
    call_wrong(wrote(QUESTION, MONDAYS))
    given = [NewMemory(pool="poem", prompt=QUESTION, answer=one) for one in (TUESDAYS, MONDAYS.upper())]

    with pytest.raises(BadInput, match="'cleo'"):
        curate.add(given)

    assert shown(recall) == []
    curate.add(given[:1])
    assert shown(recall) == [TUESDAYS]


@pytest.mark.parametrize(
    ("prompt", "answer", "is_taken"),
    [
        (f"{QUESTION} now", MONDAYS, False),
        ("Who paints the whale", MONDAYS, True),
        (f"{QUESTION} now", "On Mondays.", True),  # few words, which may be right for another question
    ],
)
def test_nothing_is_brought_in_or_edited_to_say_what_was_called_wrong_for_a_like_question(
    curate: Curate, wrote: Callable[..., Memory], call_wrong: CallWrong, prompt: str, answer: str, is_taken: bool
) -> None:
    call_wrong(wrote(QUESTION, answer))
    other = wrote(prompt, TUESDAYS)

    for act in (
        lambda: curate.add([NewMemory(pool="poem", prompt=prompt, answer=answer)]),
        lambda: curate.edit(Edit(id=other.id, answer=answer)),
    ):
        with nullcontext() if is_taken else pytest.raises(BadInput, match="'cleo'"):
            act()


def test_an_answer_under_way_is_stale_where_what_it_follows_was_called_wrong_meanwhile(
    curate: Curate, recall: Recall, pool: Pool, redis_client: redis.Redis, wrote: Callable[..., Memory],
    call_wrong: CallWrong,
) -> None:  # fmt: skip
    wrong = wrote(QUESTION, MONDAYS)
    call_wrong(wrong)
    stage = SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False))

    pair = graded(recall, f"{QUESTION} now", f"Now: {MONDAYS}", shown=[wrong.id])
    done = stage.run("later", pair).record

    assert done.memory_id
    assert curate.get(done.memory_id).status == "stale"
    curate.edit(Edit(id=wrong.id, status="active"))
    assert curate.get(done.memory_id).status == "active"


@pytest.mark.parametrize(
    ("wrong", "other", "is_wrong"),
    [
        ("Yes!!", "Yes.", True),
        ("'Yes.'", "yes", True),
        ("Yes …?!", "“Yes!”", True),
        ("5.", "5", True),
        (".5", "5", False),
        ("5", ".5", False),
        ("gitignore", ".gitignore", False),
        ("-5", "5", False),
    ],
)
def test_an_answer_is_wrong_with_any_ends_and_a_point_that_it_begins_with_says_something(
    redis_client: redis.Redis, recall: Recall, wrong: str, other: str, *, is_wrong: bool
) -> None:
    memory, _ = remembered(QUESTION, answer=wrong)
    note_wrong(redis_client, wrong, word_on(memory))

    assert any(each_barred(redis_client, [(other, "poem", QUESTION)], partial(recall.vector, None))) == is_wrong


def compare(pool: Pool, client: redis.Redis, one: Memory, *others: Memory, contradict: bool = True) -> None:
    """Note that a model found one to contradict others, or to contradict none of them."""
    found = {each.id: "?" for each in others if contradict}
    compared = Compared(memory_id=one.id, contradicted=found, compared=len(others), model="m", usage=Usage())
    ids = tuple(each.id for each in others)
    note_compared(pool, client, ComparedPairs(journey="j", pool="poem", compared=compared, others=ids))


@pytest.mark.parametrize("asked", [f"{QUESTION}?", f"{QUESTION} at all"])
@pytest.mark.parametrize("is_late", [False, True])
def test_a_copy_of_what_lost_and_what_was_written_from_it_are_in_one_state_whichever_came_first(
    curate: Curate, pool: Pool, redis_client: redis.Redis, wrote: Callable[..., Memory], asked: str, *, is_late: bool
) -> None:
    wrong, right = wrote(QUESTION, MONDAYS), wrote(QUESTION, TUESDAYS)
    copy, written = wrote(asked, MONDAYS.upper()), wrote(f"{asked} ever", MONDAYS.upper(), wrong)
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", copy)
    links = Conflicts(redis_client)
    for happens in (True, False) if is_late else (False, True):
        if happens:
            say(curate, right, wrong, right)
        else:
            compare(pool, redis_client, copy, right)
            compare(pool, redis_client, written, right)

    assert links.wrong("poem", [copy.id, written.id]) == {copy.id, written.id}
    assert statuses(curate, copy, written, child) == ["active", "stale", "stale"]

    say(curate, None, wrong, right)
    assert links.wrong("poem", [copy.id, written.id]) == set()
    assert statuses(curate, copy, written, child) == ["active"] * 3


def test_an_answer_under_way_that_says_what_lost_has_lost_too_though_it_is_stale(
    curate: Curate, recall: Recall, pool: Pool, redis_client: redis.Redis, wrote: Callable[..., Memory]
) -> None:
    wrong, right = wrote(QUESTION, MONDAYS), wrote(f"{QUESTION} now", TUESDAYS)
    say(curate, right, wrong, right)
    stage = SettleStage(pool, redis_client, Lessons(redis_client, 0, learn=False))

    pair = graded(recall, f"{QUESTION}, pray, my dear old friend?", MONDAYS, shown=[wrong.id])
    other = pair.task.model_copy(update={"prompt": f"{QUESTION}?"})
    done = stage.run("later", pair.model_copy(update={"task": other})).record

    assert done.memory_id
    assert statuses(curate, curate.get(done.memory_id)) == ["stale"]
    assert Conflicts(redis_client).wrong("poem", [done.memory_id]) == {done.memory_id}


@pytest.mark.parametrize("how", ["called wrong", "lost", "changed", "forgotten"])
def test_what_lay_in_the_trash_when_its_source_was_found_wrong_or_changed_comes_back_stale(
    curate: Curate, forgetting: Forgetting, wrote: Callable[..., Memory], call_wrong: CallWrong, how: str
) -> None:
    wrong, right = (wrote(QUESTION, said).model_copy(update={"kind": "knowledge"}) for said in (MONDAYS, TUESDAYS))
    curate.restore([wrong, right])
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", wrong)
    grandchild = wrote(f"{QUESTION} soon", f"Soon: {MONDAYS}", child)
    forgetting.forget(Forget(ids=(child.id,)))

    if how == "called wrong":
        call_wrong(wrong)
    elif how == "lost":
        say(curate, right, wrong, right)
    elif how == "changed":
        curate.edit(Edit(id=wrong.id, answer="Nobody knows when."))
    else:
        forgetting.forget(Forget(ids=(wrong.id,)))
    forgetting.restore(RestoreForgotten(ids=(child.id,)))
    assert statuses(curate, child, grandchild) == ["stale", "stale"]

    forgetting.forget(Forget(ids=(child.id,)))
    if how == "called wrong":
        curate.edit(Edit(id=wrong.id, status="active"))
    elif how == "lost":
        say(curate, None, wrong, right)
    elif how == "changed":
        curate.edit(Edit(id=wrong.id, answer=MONDAYS))
    else:
        forgetting.restore(RestoreForgotten(ids=(wrong.id,)))
    forgetting.restore(RestoreForgotten(ids=(child.id,)))
    assert statuses(curate, child, grandchild) == ["active", "active"]


def test_a_copy_that_lay_in_the_trash_is_decided_and_taken_back_with_the_others(
    curate: Curate, forgetting: Forgetting, redis_client: redis.Redis, wrote: Callable[..., Memory]
) -> None:
    wrong, right, copy = wrote(QUESTION, MONDAYS), wrote(QUESTION, TUESDAYS), wrote(f"{QUESTION}?", MONDAYS)
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", copy)
    links = Conflicts(redis_client)

    for which, is_wrong, status in ((right, {copy.id}, "stale"), (None, set(), "active")):
        forgetting.forget(Forget(ids=(copy.id,)))
        say(curate, which, wrong, right)
        forgetting.restore(RestoreForgotten(ids=(copy.id,)))

        assert links.wrong("poem", [copy.id]) == is_wrong
        assert statuses(curate, child) == [status]


def test_what_follows_what_lost_is_shown_with_it_while_the_right_one_is_forgotten(
    curate: Curate, forgetting: Forgetting, wrote: Callable[..., Memory]
) -> None:
    wrong, right = wrote(QUESTION, MONDAYS), wrote(f"{QUESTION} now", TUESDAYS)
    child = wrote(f"{QUESTION} then", f"Then: {MONDAYS}", wrong)
    say(curate, right, wrong, right)

    forgetting.forget(Forget(ids=(right.id,)))
    assert statuses(curate, child) == ["active"]

    forgetting.restore(RestoreForgotten(ids=(right.id,)))
    assert statuses(curate, child) == ["stale"]


@pytest.mark.parametrize("is_first", [False, True])
def test_a_text_that_is_back_is_as_stale_as_it_was_or_became_meanwhile(
    curate: Curate, wrote: Callable[..., Memory], *, is_first: bool
) -> None:
    wrong, right = wrote(QUESTION, MONDAYS), wrote(QUESTION, TUESDAYS)
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", wrong)
    if is_first:
        say(curate, right, wrong, right)
    curate.edit(Edit(id=child.id, answer="Nobody knows when."))
    if not is_first:
        say(curate, right, wrong, right)
    assert statuses(curate, child) == ["active"]

    curate.edit(Edit(id=child.id, answer=child.answer))
    assert statuses(curate, child) == ["stale"]

    say(curate, None, wrong, right)
    assert statuses(curate, child) == ["active"]


def test_a_copy_that_has_its_text_again_has_lost_as_the_others_have_by_then(
    curate: Curate, redis_client: redis.Redis, wrote: Callable[..., Memory]
) -> None:
    wrong, right, copy = wrote(QUESTION, MONDAYS), wrote(QUESTION, TUESDAYS), wrote(f"{QUESTION}?", MONDAYS)
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", copy)
    links = Conflicts(redis_client)

    for which, is_wrong, status in ((right, {copy.id}, "stale"), (None, set(), "active")):
        curate.edit(Edit(id=copy.id, answer="Nobody knows when."))
        say(curate, which, wrong, right)
        curate.edit(Edit(id=copy.id, answer=MONDAYS))

        assert links.wrong("poem", [copy.id]) == is_wrong
        assert statuses(curate, child) == [status]


def test_what_was_written_from_what_is_right_is_not_stale_though_that_was_written_from_the_wrong_one(
    curate: Curate, wrote: Callable[..., Memory]
) -> None:
    wrong = wrote(QUESTION, MONDAYS).model_copy(update={"kind": "knowledge"})
    curate.restore([wrong])
    right = wrote(f"{QUESTION} now", TUESDAYS, wrong)
    child = wrote(f"{QUESTION} then", f"Then: {TUESDAYS}", right)

    say(curate, right, wrong, right)

    assert statuses(curate, right, child) == ["active", "active"]


def test_what_lost_has_lost_again_once_both_are_back_whichever_was_forgotten_and_restored_first(
    curate: Curate, forgetting: Forgetting, redis_client: redis.Redis, wrote: Callable[..., Memory]
) -> None:
    wrong, right = wrote(QUESTION, MONDAYS), wrote(f"{QUESTION} now", TUESDAYS)
    child = wrote(f"{QUESTION} then", f"Then: {MONDAYS}", wrong)
    say(curate, right, wrong, right)

    for order in ((wrong, right), (right, wrong)):
        for one in order:
            forgetting.forget(Forget(ids=(one.id,)))
        for one in order:
            forgetting.restore(RestoreForgotten(ids=(one.id,)))
        assert Conflicts(redis_client).wrong("poem", [wrong.id, right.id]) == {wrong.id}
        assert statuses(curate, child) == ["stale"]


def test_both_are_right_still_once_they_are_back_out_of_the_trash(
    curate: Curate, forgetting: Forgetting, redis_client: redis.Redis, wrote: Callable[..., Memory]
) -> None:
    one, other = wrote(QUESTION, MONDAYS), wrote(QUESTION, TUESDAYS)
    curate.decide(ConflictDecision(memories=(one.id, other.id), contradict=False))

    for order in ((one, other), (other, one)):
        forgetting.forget(Forget(ids=(order[0].id,)))
        forgetting.forget(Forget(ids=(order[1].id,)))
        forgetting.restore(RestoreForgotten(ids=(order[0].id,)))
        forgetting.restore(RestoreForgotten(ids=(order[1].id,)))
        known = Conflicts(redis_client).rivals("poem", [one.id, other.id], dismissed=True)
        assert known == {one.id: {other.id: "dismissed"}, other.id: {one.id: "dismissed"}}


def test_taking_back_reaches_what_was_written_from_what_says_something_else_by_now(
    curate: Curate, wrote: Callable[..., Memory], call_wrong: CallWrong
) -> None:
    wrong = wrote(QUESTION, MONDAYS)
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", wrong)
    grandchild = wrote(f"{QUESTION} soon", f"Soon: {MONDAYS}", child)
    call_wrong(wrong)
    curate.edit(Edit(id=child.id, answer="Nobody knows when."))
    assert statuses(curate, grandchild) == ["stale"]

    curate.edit(Edit(id=wrong.id, status="active"))

    assert [cause.became for cause in curate.get(grandchild.id).because] == ["changed"], "that of the child is left"


def test_an_undone_edit_of_what_says_rather_what_is_right_leaves_it_shown(
    curate: Curate, wrote: Callable[..., Memory]
) -> None:
    wrong, right = (wrote(QUESTION, f"The fee is {fee} euros.") for fee in (12, 14))
    staying = wrote(f"{QUESTION} now", "The fee is 14 euros, and dogs are free.", wrong)
    say(curate, right, wrong, right)

    for answer in ("Nobody knows.", staying.answer):
        curate.edit(Edit(id=staying.id, answer=answer))

    assert statuses(curate, staying) == ["active"]


@pytest.mark.parametrize("how", ["forgotten", "hidden", "imported"])
def test_what_is_shown_again_is_compared_with_what_came_meanwhile(
    pool: Pool, wrote: Callable[..., Memory], redis_client: redis.Redis, how: str
) -> None:
    sent: list[NextMessage] = []
    curate, forgetting = Curate(pool, redis_client, sent.extend), Forgetting(pool, redis_client, sent.extend)
    first = wrote(QUESTION, MONDAYS)
    if how == "forgotten":
        forgetting.forget(Forget(ids=(first.id,)))
    else:
        curate.edit(Edit(id=first.id, status="hidden"))
    wrote(QUESTION, TUESDAYS)

    if how == "forgotten":
        forgetting.restore(RestoreForgotten(ids=(first.id,)))
    elif how == "hidden":
        curate.edit(Edit(id=first.id, status="active"))
    else:
        curate.restore([first])

    tasks = [one.body for one in sent if isinstance(one.body, CompareTask)]
    assert [[one.answer for one in (task.memory, *task.others)] for task in tasks] == [[MONDAYS, TUESDAYS]]


def test_what_is_stale_no_more_is_compared_with_what_came_meanwhile(
    pool: Pool, wrote: Callable[..., Memory], call_wrong: CallWrong, redis_client: redis.Redis
) -> None:
    sent: list[NextMessage] = []
    curate = Curate(pool, redis_client, sent.extend)
    wrong = wrote("Another thing?", MONDAYS)
    child = wrote(QUESTION, f"Now: {MONDAYS}", wrong)
    call_wrong(wrong)
    wrote(QUESTION, TUESDAYS)

    curate.edit(Edit(id=wrong.id, status="active"))

    tasks = [one.body for one in sent if isinstance(one.body, CompareTask)]
    assert [(task.memory.id, task.others[0].answer) for task in tasks] == [(child.id, TUESDAYS)]


def test_what_is_brought_in_anew_is_compared_anew(pool: Pool, redis_client: redis.Redis) -> None:
    sent: list[NextMessage] = []
    curate, forgetting = Curate(pool, redis_client, sent.extend), Forgetting(pool, redis_client)
    first = NewMemory(pool="poem", prompt=QUESTION, answer=MONDAYS)
    curate.add([NewMemory(pool="poem", prompt=QUESTION, answer=TUESDAYS)])
    [one] = curate.add([first])
    forgetting.forget(Forget(ids=(one,)))

    curate.add([first])

    assert len({message.journey for message in sent}) == len(sent) == 2


def test_a_word_on_what_lies_in_the_trash_reaches_what_was_written_from_it_until_it_is_taken_back(
    curate: Curate, forgetting: Forgetting, redis_client: redis.Redis, wrote: Callable[..., Memory]
) -> None:
    wrong = wrote(QUESTION, MONDAYS)
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", wrong)
    forgetting.forget(Forget(ids=(wrong.id,)))

    note_wrong(redis_client, wrong.answer, word_on(wrong))
    forgetting.follow([wrong.id])
    assert statuses(curate, child) == ["stale"]

    no_longer_wrong(redis_client, wrong.answer, wrong.id)
    forgetting.follow([wrong.id])
    assert statuses(curate, child) == ["active"]


@pytest.mark.parametrize("asked", [QUESTION, f"{QUESTION} at all"])
@pytest.mark.parametrize("is_late", [False, True])
def test_a_decision_and_its_end_reach_what_was_written_from_a_copy_in_the_trash(
    curate: Curate, forgetting: Forgetting, pool: Pool, redis_client: redis.Redis, wrote: Callable[..., Memory],
    asked: str, *, is_late: bool,
) -> None:  # fmt: skip
    wrong, right = wrote(QUESTION, MONDAYS), wrote(QUESTION, TUESDAYS)
    copy = wrote(asked, MONDAYS.rstrip("."))
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", copy)
    compare(pool, redis_client, copy, right)
    if is_late:
        say(curate, right, wrong, right)
    forgetting.forget(Forget(ids=(copy.id,)))

    if not is_late:
        say(curate, right, wrong, right)
    assert statuses(curate, child) == ["stale"]

    say(curate, None, wrong, right)
    assert statuses(curate, child) == ["active"]


@pytest.mark.parametrize("is_decided", [False, True])
def test_what_comes_back_is_decided_as_it_was_and_so_is_a_copy_that_came_meanwhile(
    curate: Curate, forgetting: Forgetting, pool: Pool, redis_client: redis.Redis, wrote: Callable[..., Memory],
    *, is_decided: bool,
) -> None:  # fmt: skip
    one, other = wrote(QUESTION, MONDAYS), wrote(QUESTION, TUESDAYS)
    compare(pool, redis_client, one, other)
    right = {"right": one.id} if is_decided else {}
    curate.decide(ConflictDecision(memories=(one.id, other.id), contradict=True, **right))
    forgetting.forget(Forget(ids=(other.id,)))
    copy = wrote(f"{QUESTION} now", TUESDAYS)
    child = wrote(f"{QUESTION} then", f"Then: {TUESDAYS}", copy)
    compare(pool, redis_client, one, copy)

    forgetting.restore(RestoreForgotten(ids=(other.id,)))

    verdict = "right" if is_decided else "confirmed"
    assert Conflicts(redis_client).rivals("poem", [one.id]) == {one.id: {other.id: verdict, copy.id: verdict}}
    assert statuses(curate, child) == ["stale" if is_decided else "active"]


def test_the_end_of_a_decision_reaches_a_copy_in_the_trash_also_where_what_lost_is_called_wrong(
    curate: Curate, forgetting: Forgetting, wrote: Callable[..., Memory], call_wrong: CallWrong
) -> None:
    wrong, right, copy = wrote(QUESTION, MONDAYS), wrote(QUESTION, TUESDAYS), wrote(QUESTION, MONDAYS.rstrip("."))
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", copy)
    call_wrong(wrong)
    say(curate, right, wrong, right)
    forgetting.forget(Forget(ids=(copy.id,)))

    say(curate, None, wrong, right)

    assert statuses(curate, child) == ["active"]


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_a_text_that_is_back_is_stale_where_its_source_changed_meanwhile_or_is_called_wrong_in_the_trash(
    curate: Curate, forgetting: Forgetting, redis_client: redis.Redis, wrote: Callable[..., Memory],
    *, is_forgotten: bool,
) -> None:  # fmt: skip
    source = wrote(QUESTION, MONDAYS)
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", source)
    if is_forgotten:
        forgetting.forget(Forget(ids=(source.id,)))
    curate.edit(Edit(id=child.id, answer="Nobody knows when."))
    if is_forgotten:
        note_wrong(redis_client, source.answer, word_on(source))
        forgetting.follow([source.id])
    else:
        curate.edit(Edit(id=source.id, answer="Ask at the door."))

    curate.edit(Edit(id=child.id, answer=child.answer))

    assert statuses(curate, child) == ["stale"]
    if not is_forgotten:
        curate.edit(Edit(id=source.id, answer=source.answer))
        assert statuses(curate, child) == ["active"]


def test_what_comes_back_contradicts_nothing_that_says_something_else_by_now(
    curate: Curate, forgetting: Forgetting, pool: Pool, redis_client: redis.Redis, wrote: Callable[..., Memory]
) -> None:
    one, other = wrote(QUESTION, MONDAYS), wrote(QUESTION, TUESDAYS)
    compare(pool, redis_client, one, other)
    forgetting.forget(Forget(ids=(other.id,)))
    curate.edit(Edit(id=one.id, answer="Nobody knows when."))

    forgetting.restore(RestoreForgotten(ids=(other.id,)))

    assert Conflicts(redis_client).rivals("poem", [one.id, other.id]) == {}


@pytest.mark.parametrize("wrong_goes_first", [False, True])
def test_what_was_written_from_what_lost_is_shown_once_both_are_forgotten_and_stale_once_the_right_one_is_back(
    curate: Curate, forgetting: Forgetting, wrote: Callable[..., Memory], *, wrong_goes_first: bool
) -> None:
    wrong, right = wrote(QUESTION, MONDAYS), wrote(QUESTION, TUESDAYS)
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", wrong)
    say(curate, right, wrong, right)

    for one in (wrong, right) if wrong_goes_first else (right, wrong):
        forgetting.forget(Forget(ids=(one.id,)))
    assert statuses(curate, child) == ["active"]

    forgetting.restore(RestoreForgotten(ids=(right.id,)))
    assert statuses(curate, child) == ["stale"]
    forgetting.restore(RestoreForgotten(ids=(wrong.id,)))
    assert statuses(curate, child) == ["stale"]


@pytest.mark.parametrize("verdict", ["right", "dismissed", "confirmed"])
@pytest.mark.parametrize("meanwhile", [MONDAYS.upper(), "Nobody knows when."])
def test_an_edit_and_its_undo_leave_what_a_person_decided(
    curate: Curate, redis_client: redis.Redis, wrote: Callable[..., Memory], verdict: str, meanwhile: str
) -> None:
    other, one = wrote(QUESTION, MONDAYS), wrote(f"{QUESTION} now", TUESDAYS)
    child = wrote(f"{QUESTION} then", f"Then: {MONDAYS}", other)
    right = {"right": one.id} if verdict == "right" else {}
    curate.decide(ConflictDecision(memories=(one.id, other.id), contradict=verdict != "dismissed", **right))
    was = statuses(curate, child)

    for answer in (meanwhile, TUESDAYS):
        curate.edit(Edit(id=one.id, answer=answer))

    assert Conflicts(redis_client).rivals("poem", [one.id], dismissed=True) == {one.id: {other.id: verdict}}
    assert statuses(curate, child) == was


def test_a_decision_that_is_taken_back_reaches_a_copy_that_is_worded_otherwise_by_now(
    pool: Pool, redis_client: redis.Redis, wrote: Callable[..., Memory]
) -> None:
    sent: list[NextMessage] = []
    curate, links = Curate(pool, redis_client, sent.extend), Conflicts(redis_client)
    right, copy, wrong = wrote(QUESTION, MONDAYS), wrote(QUESTION, MONDAYS.upper()), wrote(QUESTION, TUESDAYS)
    say(curate, right, right, wrong)
    curate.edit(Edit(id=copy.id, answer="Nobody knows when."))
    assert links.rivals("poem", [copy.id]) == {copy.id: {wrong.id: "right"}}
    sent.clear()

    say(curate, None, right, wrong)

    assert links.rivals("poem", [copy.id]) == {}
    [task] = [one.body for one in sent if isinstance(one.body, CompareTask)]
    assert (task.memory.id, {one.id for one in task.others}) == (copy.id, {right.id, wrong.id})
    curate.edit(Edit(id=copy.id, answer=MONDAYS.upper()))
    assert links.wrong("poem", [wrong.id]) == set()


@pytest.mark.parametrize("is_first", [False, True])
def test_a_word_reaches_what_was_written_from_an_earlier_text_of_what_follows_the_wrong_answer(
    curate: Curate, wrote: Callable[..., Memory], call_wrong: CallWrong, *, is_first: bool
) -> None:
    wrong = wrote(QUESTION, MONDAYS)
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", wrong)
    grandchild = wrote(f"{QUESTION} soon", f"Soon: {MONDAYS}", child)
    if is_first:
        call_wrong(wrong)
    curate.edit(Edit(id=child.id, answer="Ask at the door, they know it."))
    later = wrote(f"{QUESTION} later", "Ask at the door, they know it.", child)
    if not is_first:
        call_wrong(wrong)
    assert {cause.became for cause in curate.get(grandchild.id).because} == {"changed", "found wrong"}
    assert statuses(curate, later) == ["active"]

    curate.edit(Edit(id=child.id, answer=child.answer))

    assert statuses(curate, child, grandchild) == ["stale", "stale"]
    curate.edit(Edit(id=wrong.id, status="active"))
    assert statuses(curate, child, grandchild) == ["active", "active"]


def test_an_edit_of_a_wrong_answer_and_its_undo_leave_what_a_person_kept(
    curate: Curate, wrote: Callable[..., Memory], call_wrong: CallWrong
) -> None:
    wrong = wrote(QUESTION, MONDAYS)
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", wrong)
    call_wrong(wrong)
    curate.edit(Edit(id=child.id, status="active"))

    for answer in ("Nobody knows when.", MONDAYS):
        curate.edit(Edit(id=wrong.id, answer=answer))

    assert statuses(curate, wrong, child) == ["hidden", "active"]


@pytest.mark.parametrize(("right", "wrong"), [("x", "Y"), ("X", "y"), ("x", "y")])
def test_who_decides_the_originals_decides_what_was_written_from_them_and_takes_both_back(
    curate: Curate, redis_client: redis.Redis, wrote: Callable[..., Memory], right: str, wrong: str
) -> None:
    both = {"X": wrote(QUESTION, MONDAYS), "Y": wrote(f"{QUESTION} now", TUESDAYS)}
    both |= {one.lower(): wrote(f"{QUESTION}, {one} asks", f"So: {of.answer}", of) for one, of in [*both.items()]}
    links = Conflicts(redis_client)

    def now() -> tuple[set[str], list[str]]:
        lost = links.wrong("poem", [each.id for each in both.values()])
        return {name for name, each in both.items() if each.id in lost}, statuses(curate, *both.values())

    say(curate, both[right], both[right], both[wrong])
    before = now()

    for _ in range(2):
        say(curate, both["Y"], both["X"], both["Y"])
        assert now() == ({"X"}, ["active", "active", "stale", "active"])

    say(curate, None, both["X"], both["Y"])
    assert now() == before
    say(curate, both["X"], both["X"], both["Y"])
    assert now() == ({"Y", wrong}, ["active", "active", "active", "stale"])


def test_a_decision_outlives_that_the_right_one_lay_in_the_trash_while_the_other_was_edited(
    curate: Curate, forgetting: Forgetting, redis_client: redis.Redis, wrote: Callable[..., Memory]
) -> None:
    wrong, right = wrote(QUESTION, MONDAYS), wrote(f"{QUESTION} now", TUESDAYS)
    links = Conflicts(redis_client)
    say(curate, right, wrong, right)
    forgetting.forget(Forget(ids=(right.id,)))
    curate.edit(Edit(id=wrong.id, answer="Nobody knows when."))
    forgetting.restore(RestoreForgotten(ids=(right.id,)))
    assert links.wrong("poem", [wrong.id]) == set()

    curate.edit(Edit(id=wrong.id, answer=MONDAYS))

    assert links.wrong("poem", [wrong.id]) == {wrong.id}


@pytest.mark.parametrize("is_source", [True, False])
def test_what_a_person_kept_stays_so_when_what_it_rests_on_or_what_that_lost_to_comes_out_of_the_trash(
    curate: Curate, forgetting: Forgetting, redis_client: redis.Redis, wrote: Callable[..., Memory], *, is_source: bool
) -> None:
    wrong, right = wrote(QUESTION, MONDAYS), wrote(f"{QUESTION} now", TUESDAYS)
    child = wrote(f"{QUESTION} then", f"Then: {MONDAYS}", wrong)
    if is_source:
        forgetting.forget(Forget(ids=(wrong.id,)))
        note_wrong(redis_client, MONDAYS, word_on(wrong))
        forgetting.follow([wrong.id])
    else:
        say(curate, right, wrong, right)
    assert statuses(curate, child) == ["stale"]
    curate.edit(Edit(id=child.id, status="active"))
    if not is_source:
        forgetting.forget(Forget(ids=(right.id,)))

    forgetting.restore(RestoreForgotten(ids=(wrong.id if is_source else right.id,)))

    assert statuses(curate, child) == ["active"]


@pytest.mark.parametrize("is_called", [True, False])
@pytest.mark.parametrize("is_first", [True, False])
def test_what_was_written_from_a_wrong_text_is_stale_however_often_that_is_corrected_and_undone(
    curate: Curate, wrote: Callable[..., Memory], call_wrong: CallWrong, *, is_called: bool, is_first: bool
) -> None:
    wrong, right = wrote(QUESTION, MONDAYS), wrote(f"{QUESTION} now", TUESDAYS)
    child = wrote(f"{QUESTION} then", f"Then: {MONDAYS}", wrong)
    there_and_back = ["Nobody knows when.", MONDAYS]
    for answer in there_and_back * is_first:
        curate.edit(Edit(id=wrong.id, answer=answer))
    if is_called:
        call_wrong(wrong)
    else:
        say(curate, right, wrong, right)

    for answer in there_and_back * 2:
        curate.edit(Edit(id=wrong.id, answer=answer, status="active" if answer != MONDAYS else None))
        assert statuses(curate, child) == ["stale"]

    if is_called:
        curate.edit(Edit(id=wrong.id, status="active"))
    else:
        say(curate, None, wrong, right)
    assert statuses(curate, child) == ["active"]


@pytest.mark.parametrize("contradict", [True, False])
def test_a_models_comparison_keeps_what_taking_a_decision_back_restores(
    pool: Pool, curate: Curate, redis_client: redis.Redis, wrote: Callable[..., Memory], *, contradict: bool
) -> None:
    one, other = wrote(QUESTION, MONDAYS), wrote(f"{QUESTION} now", TUESDAYS)
    first, second = wrote(f"{QUESTION}, x", MONDAYS, one), wrote(f"{QUESTION}, y", TUESDAYS, other)
    links, every = Conflicts(redis_client), [one.id, other.id, first.id, second.id]
    say(curate, second, second, first)
    before = links.wrong("poem", every), statuses(curate, first, second)
    say(curate, one, one, other)

    compare(pool, redis_client, second, one, first, contradict=contradict)
    compare(pool, redis_client, first, other, contradict=contradict)

    say(curate, None, one, other)
    assert (links.wrong("poem", every), statuses(curate, first, second)) == before


def test_a_models_word_on_a_copy_is_no_take_back_of_what_a_person_decided(
    pool: Pool, curate: Curate, redis_client: redis.Redis, wrote: Callable[..., Memory]
) -> None:
    wrong, right = wrote(QUESTION, MONDAYS), wrote(f"{QUESTION} now", TUESDAYS)
    child = wrote(f"{QUESTION} then", f"Then: {MONDAYS}", wrong)
    say(curate, right, wrong, right)
    curate.edit(Edit(id=wrong.id, answer="Nobody knows when."))
    copy = wrote(f"{QUESTION}, x", MONDAYS)
    compare(pool, redis_client, copy, right)

    curate.edit(Edit(id=wrong.id, answer=MONDAYS))

    assert Conflicts(redis_client).wrong("poem", [wrong.id]) == {wrong.id}
    assert statuses(curate, child) == ["stale"]


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("is_edit", [True, False])
def test_taking_a_decision_back_restores_what_it_outdid_also_after_an_edit_and_its_undo_or_a_return(
    curate: Curate,
    forgetting: Forgetting,
    redis_client: redis.Redis,
    wrote: Callable[..., Memory],
    which: int,
    *,
    is_edit: bool,
) -> None:
    one, other = wrote(QUESTION, MONDAYS), wrote(f"{QUESTION} now", TUESDAYS)
    every = [one, other, wrote(f"{QUESTION}, x", MONDAYS, one), wrote(f"{QUESTION}, y", TUESDAYS, other)]
    links, changed = Conflicts(redis_client), every[which]
    say(curate, every[3], every[3], every[2])
    before = links.wrong("poem", [each.id for each in every]), statuses(curate, *every)
    say(curate, one, one, other)

    if is_edit:
        curate.edit(Edit(id=changed.id, answer="Nobody knows when."))
        curate.edit(Edit(id=changed.id, answer=changed.answer))
    else:
        forgetting.forget(Forget(ids=(changed.id,)))
        forgetting.restore(RestoreForgotten(ids=(changed.id,)))

    say(curate, None, one, other)
    assert (links.wrong("poem", [each.id for each in every]), statuses(curate, *every)) == before


def test_a_text_that_is_back_rests_on_what_was_wrong_before_it_was_corrected(
    curate: Curate, wrote: Callable[..., Memory], call_wrong: CallWrong
) -> None:
    wrong = wrote(QUESTION, MONDAYS)
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", wrong)
    curate.edit(Edit(id=child.id, answer="Ask at the door, they know it."))
    call_wrong(wrong)
    curate.edit(Edit(id=wrong.id, answer="Nobody knows when."))
    curate.edit(Edit(id=child.id, answer=child.answer))
    assert statuses(curate, child) == ["stale"]

    curate.edit(Edit(id=wrong.id, answer=MONDAYS))

    assert statuses(curate, child) == ["stale"]
    curate.edit(Edit(id=wrong.id, status="active"))
    assert statuses(curate, child) == ["active"]


def test_what_was_written_from_the_right_text_is_shown_with_that_though_a_later_one_was_wrong(
    curate: Curate, wrote: Callable[..., Memory], call_wrong: CallWrong
) -> None:
    fact = wrote(QUESTION, MONDAYS).model_copy(update={"kind": "knowledge"})
    curate.restore([fact])
    child = wrote(f"{QUESTION} now", f"Now: {MONDAYS}", fact)
    curate.edit(Edit(id=fact.id, answer=TUESDAYS))
    call_wrong(curate.get(fact.id))
    assert statuses(curate, fact, child) == ["hidden", "stale"]

    for answer, then in ((MONDAYS, ["active", "active"]), (TUESDAYS, ["hidden", "stale"])) * 2:
        curate.edit(Edit(id=fact.id, answer=answer))
        assert statuses(curate, fact, child) == then


def test_purging_leaves_nothing_of_what_a_decision_outdid(
    curate: Curate, forgetting: Forgetting, redis_client: redis.Redis, wrote: Callable[..., Memory]
) -> None:
    one, other = wrote(QUESTION, MONDAYS), wrote(f"{QUESTION} now", TUESDAYS)
    first, second = wrote(f"{QUESTION}, x", MONDAYS, one), wrote(f"{QUESTION}, y", TUESDAYS, other)
    say(curate, second, second, first)
    say(curate, one, one, other)
    say(curate, None, one, other)
    say(curate, one, one, other)

    forgetting.purge(Forget(ids=(first.id,)))

    assert str(first.id) not in str(redis_client.hgetall("memshare:claims:poem"))
