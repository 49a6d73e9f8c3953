"""When a memory is proposed for the next pool, and what becomes of that by a rule or a loss of words."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
import redis

from memshare_broker.wire.grades import PROGRAM
from memshare_broker.wire.messages import OutsidePair
from memshare_broker.wire.spaces import Spaces
from memshare_memory.admit.after import Lessons
from memshare_memory.admit.settle import SettleStage
from memshare_memory.belief.lift import LEAST_OF_MEMORY, LiftSums, TaskGroup
from memshare_memory.belief.promotions import BY_RULE, HELPED, Promotions, Proposal
from memshare_memory.curate.curate import Curate
from memshare_memory.curate.forgetting import Forgetting
from memshare_memory.curate.requests import Edit, Forget
from memshare_memory.memory import Memory, memory_id
from memshare_memory.people import WrongAnswer, note_wrong
from memshare_memory.pool.pool import Pool
from memshare_memory.recall.recall import Recall
from memshare_memory.stores.store import Where
from tests.support.graded import as_pair, graded

ANSWER = "A buoy with a red lamp upon it."
Helps = Callable[..., None]


def spaces(submitter: str, **more: object) -> Spaces:
    return Spaces.model_validate({"pools": (f"mine/{submitter}", "team", "shared"), **more})


@pytest.fixture
def stage(pool: Pool, redis_client: redis.Redis) -> SettleStage:
    return SettleStage(pool, redis_client, Lessons(redis_client, 1))


@pytest.fixture
def helps(stage: SettleStage, recall: Recall) -> Helps:
    """Has a task of somebody answered with words of a memory, and settles that."""

    def run(
        memory: UUID, number: int, by: str = "ada", *, score: float = 90, model: str = "scripted", **rule: object
    ) -> None:
        prompt, answer = f"What shines at night, number {number}?", f"{ANSWER} {number}"
        pair = graded(recall, prompt, answer, score=score, journey=f"{by} {number}", submitter=by, shown=[memory])
        task = pair.task.model_copy(update={"pool": f"mine/{by}", "spaces": spaces(by, **rule)})
        said = pair.score.model_copy(update={"model": model})
        stage.run(task.journey, pair.model_copy(update={"task": task, "score": said}))

    return run


def stored(recall: Recall, pool: str, submitter: str = "ada") -> UUID:
    name = memory_id(pool, "What floats?", ANSWER)
    memory = Memory(
        id=name, pool=pool, prompt="What floats?", answer=ANSWER, submitter=submitter, task_id="t0", created=1.0,
        score=90, kind="limerick", agent="poem",
    )  # fmt: skip
    recall.store.put([(memory, recall.vectors([memory])[0])])
    return name


def proposed(client: redis.Redis) -> list[tuple[str, str, int, int]]:
    return [(one.pool, one.to, one.helped, one.checked) for one in Promotions(client).every()]


def of_pool(recall: Recall, pool: str) -> list[Memory]:
    return recall.store.page(Where(pool=pool), 100).memories


def test_a_memory_of_ones_own_is_proposed_once_it_helped_with_three_prompts(
    recall: Recall, helps: Helps, redis_client: redis.Redis
) -> None:
    memory = stored(recall, "mine/ada")

    for number in (1, 2, 2):
        helps(memory, number)
    assert proposed(redis_client) == []
    helps(memory, 3)
    helps(memory, 4)

    assert proposed(redis_client) == [("mine/ada", "team", 3, 0)]
    assert of_pool(recall, "team") == []


def test_among_several_people_its_author_does_not_count(
    recall: Recall, helps: Helps, redis_client: redis.Redis
) -> None:
    memory = stored(recall, "team")

    for number in range(5):
        helps(memory, number)
    assert proposed(redis_client) == []
    for number, by in ((1, "bob"), (2, "bob"), (3, "cleo")):
        helps(memory, number, by)

    assert proposed(redis_client) == [("team", "shared", 3, 0)]


def test_what_programs_grade_counts_whoever_asked(recall: Recall, helps: Helps, redis_client: redis.Redis) -> None:
    memory = stored(recall, "team")

    helps(memory, 1, model=PROGRAM)
    assert proposed(redis_client) == []
    helps(memory, 2, model=PROGRAM)

    assert proposed(redis_client) == [("team", "shared", 0, 2)]


def test_what_followed_it_and_was_rejected_is_no_help(recall: Recall, helps: Helps, redis_client: redis.Redis) -> None:
    memory = stored(recall, "mine/ada")

    for number in range(4):
        helps(memory, number, score=50)

    assert redis_client.keys(f"{HELPED}*") == []


def test_the_last_pool_promotes_to_none(recall: Recall, helps: Helps, redis_client: redis.Redis) -> None:
    memory = stored(recall, "shared")

    for number in range(4):
        helps(memory, number, "bob")

    assert proposed(redis_client) == []


def test_a_memory_that_lowers_scores_is_not_proposed(recall: Recall, helps: Helps, redis_client: redis.Redis) -> None:
    memory, sums = stored(recall, "mine/ada"), LiftSums(redis_client)
    group = TaskGroup("one withheld", "desk", "", "")
    for number in range(LEAST_OF_MEMORY):
        sums.count("mine/ada", f"with {number}", 50, group, [memory], withheld=False)
        sums.count("mine/ada", f"without {number}", 90, group, [memory], withheld=True)

    for number in range(4):
        helps(memory, number)
    assert proposed(redis_client) == []
    for number in range(100):
        sums.count("mine/ada", f"later {number}", 100, group, [memory], withheld=False)
    helps(memory, 5)

    assert proposed(redis_client) == [("mine/ada", "team", 5, 0)]


def test_where_the_file_says_so_nobody_has_to_approve(recall: Recall, helps: Helps, redis_client: redis.Redis) -> None:
    memory = stored(recall, "mine/ada")

    helps(memory, 1, helped=2, approval="none")
    assert of_pool(recall, "team") == []
    helps(memory, 2, helped=2, approval="none")

    [found] = of_pool(recall, "team")
    assert (found.answer, found.submitter, found.task_id, found.parents) == (ANSWER, "ada", "t0", (memory,))
    assert found.origin is not None
    assert (found.origin.memory, found.origin.pool, found.origin.approved_by) == (memory, "mine/ada", BY_RULE)
    [proposal] = Promotions(redis_client).every()
    assert (proposal.said, proposal.by, proposal.became) == ("promoted", BY_RULE, found.id)


def test_what_somebody_offers_helps_only_where_a_person_approves(
    recall: Recall, stage: SettleStage, redis_client: redis.Redis
) -> None:
    memory = stored(recall, "team")

    for number, approval in enumerate(("none", "none", "person", "person")):
        pair = graded(recall, f"Lamp {number}?", ANSWER, journey=f"o{number}", submitter="bob", shown=[memory])
        made = as_pair(OutsidePair, pair, pool="mine/bob", spaces=spaces("bob", helped=2, approval=approval))
        stage.run(f"o{number}", made)

    assert proposed(redis_client) == [("team", "shared", 2, 0)]


def test_a_memory_that_the_next_pool_has_is_not_written_again(
    recall: Recall, helps: Helps, redis_client: redis.Redis
) -> None:
    memory, there = stored(recall, "mine/ada"), stored(recall, "team", "bob")

    for number in (1, 2):
        helps(memory, number, helped=2, approval="none")

    [found] = of_pool(recall, "team")
    assert (found.id, found.submitter, found.origin) == (there, "bob", None)
    assert [one.became for one in Promotions(redis_client).every()] == [there]


@pytest.mark.parametrize("prompt", ["What floats?", "What floats there?"])
def test_a_memory_that_was_called_wrong_in_the_next_pool_is_not_written_there(
    recall: Recall, helps: Helps, redis_client: redis.Redis, prompt: str
) -> None:
    memory = stored(recall, "mine/ada")
    about = {"memory": UUID(int=1), "pool": "team", "prompt": prompt, "submitter": "eve", "by": "cleo"}
    note_wrong(redis_client, ANSWER, WrongAnswer(curated=True, **about))

    for number in (1, 2):
        helps(memory, number, helped=2, approval="none")

    assert of_pool(recall, "team") == []
    assert [one.said for one in Promotions(redis_client).every()] == [None]


def proposal_of(client: redis.Redis, memory: UUID) -> Proposal | None:
    return Promotions(client).of(memory)


def test_words_that_are_taken_back_take_the_proposal_with_them(
    recall: Recall, helps: Helps, redis_client: redis.Redis, pool: Pool
) -> None:
    memory = stored(recall, "team")
    for number, by in ((1, "bob"), (2, "bob"), (3, "mallory")):
        helps(memory, number, by)
    assert proposal_of(redis_client, memory)

    Forgetting(pool, redis_client).forget(Forget(submitter="mallory", roll_back=True))

    assert proposal_of(redis_client, memory) is None
    helps(memory, 4, "bob")
    assert proposed(redis_client) == [("team", "shared", 3, 0)]
    assert not any("mallory" in str(one) for one in redis_client.smembers(f"{HELPED}{memory}"))


@pytest.mark.parametrize("gone", [True, False])
def test_what_is_forgotten_or_says_something_else_is_proposed_no_more(
    recall: Recall, helps: Helps, redis_client: redis.Redis, pool: Pool, gone: bool
) -> None:
    memory = stored(recall, "mine/ada")
    for number in range(3):
        helps(memory, number)

    if gone:
        Forgetting(pool, redis_client).forget(Forget(ids=(memory,)))
    else:
        Curate(pool, redis_client).edit(Edit(id=memory, by="ada", answer="A boat."))

    assert proposed(redis_client) == []
    assert redis_client.keys(f"{HELPED}*") == []


def test_who_is_purged_is_named_nowhere(recall: Recall, helps: Helps, redis_client: redis.Redis, pool: Pool) -> None:
    memory = stored(recall, "team")
    for number, by in ((1, "bob"), (2, "bob"), (3, "bob")):
        helps(memory, number, by)
    promotions = Promotions(redis_client)
    [proposal] = promotions.every()
    promotions.put(proposal.decided("refused", "bob"))

    Forgetting(pool, redis_client).purge(Forget(submitter="bob"))

    assert [one.by for one in promotions.every()] == [None]
    assert redis_client.keys(f"{HELPED}*") == []


def test_shared_memories_learn_from_tasks_of_everybodys_own(
    recall: Recall, helps: Helps, redis_client: redis.Redis
) -> None:
    memory = stored(recall, "team", "ada")

    helps(memory, 1, "bob")

    [key] = redis_client.keys("memshare:retriever:team:*waiting")
    [field] = redis_client.hkeys(key)
    assert str(field) == f"{memory} bob"
    assert redis_client.keys("memshare:retriever:mine/*waiting") == []


def test_what_was_promoted_and_says_something_else_has_to_help_anew(
    recall: Recall, helps: Helps, redis_client: redis.Redis, pool: Pool
) -> None:
    memory = stored(recall, "mine/ada")
    for number in (1, 2):
        helps(memory, number, helped=2, approval="none")
    assert [one.said for one in Promotions(redis_client).every()] == ["promoted"]
    Curate(pool, redis_client).edit(Edit(id=memory, by="ada", answer=f"{ANSWER} And a bell."))

    helps(memory, 3, helped=2)
    assert [one.said for one in Promotions(redis_client).every()] == ["promoted"]
    helps(memory, 4, helped=2)
    assert [one.said for one in Promotions(redis_client).every()] == [None]
